import { Text, Tooltip } from '@mantine/core';
import type { ReactElement } from 'react';

import { graphql, readFragment, type FragmentOf } from '../api/gql.ts';
import { useLanguage, useT } from '../app/i18n.ts';
import { clock } from './time.ts';

export const FreshnessFields = graphql(`
  fragment FreshnessFields on Freshness @_unmask {
    source
    observedAt
    stale
    message
  }
`);

/** Freshness says how old what is shown is, and whether it may be out of date. */
export function Freshness({ of }: { of: FragmentOf<typeof FreshnessFields> | undefined }): ReactElement | null {
  const t = useT();
  const language = useLanguage();
  if (of === undefined) return null;
  const f = readFragment(FreshnessFields, of);
  const when = f.observedAt === null ? t('freshness.unknown') : t('freshness.asOf', { time: clock(f.observedAt, language, new Date()) });
  const text = f.stale ? `${when}, ${t('freshness.stale')}` : when;
  const line = (
    <Text component="span" size="xs" className={f.stale ? 'kairship-warning' : 'kairship-dimmed'} role="status">
      {text}
    </Text>
  );
  return f.message === null ? line : <Tooltip label={f.message}>{line}</Tooltip>;
}
