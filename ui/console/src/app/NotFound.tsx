import type { ReactElement } from 'react';

import { Empty } from '../shared/Empty.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { useT } from './i18n.ts';

export function NotFound(): ReactElement {
  const t = useT();
  return (
    <Empty title={t('app.notFound')} hint={t('app.notFoundHint')}>
      <ButtonLink to="/" variant="default" mt="md">
        {t('app.toFleet')}
      </ButtonLink>
    </Empty>
  );
}
