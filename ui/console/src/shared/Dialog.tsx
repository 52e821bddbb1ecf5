import { Modal, type ModalProps } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';

type Props = Pick<ModalProps, 'title' | 'size' | 'children' | 'closeOnEscape'> & { close: () => void };

/** Dialog is a modal dialog that is open. Its button to close has a name, and its header is not the page's. */
export function Dialog({ close, ...props }: Props): ReactElement {
  const t = useT();
  return <Modal opened onClose={close} closeButtonProps={{ 'aria-label': t('bulk.close') }} attributes={{ header: { role: 'none' } }} {...props} />;
}
