import { Button, Group, Stack, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import { useT } from '../app/i18n.ts';
import { Dialog } from '../shared/Dialog.tsx';
import { Problem } from '../shared/Problem.tsx';
import type { Binding } from './AccessPage.tsx';
import { Revoke } from './queries.ts';

/** RevokeDialog takes a role away. */
export function RevokeDialog({ instance, of, close, done }: { instance: string; of: Binding; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [refused, setRefused] = useState<CombinedError>();
  const [busy, setBusy] = useState(false);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    const result = await client.mutation(Revoke, { input: { instance, binding: of.name } }).toPromise();
    setBusy(false);
    setRefused(result.error);
    if (result.error) return;
    done();
    close();
  };
  return (
    <Dialog close={close} title={t('access.revoke')}>
      <Stack gap="md">
        <Text size="sm">{t('access.revokeHint', { subject: of.subject, role: t(`access.roles.${of.role}`), instance })}</Text>
        <Problem error={refused} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>{t('action.cancel')}</Button>
          <Button color="red" loading={busy} onClick={() => void confirm()} data-autofocus>{t('access.revoke')}</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
