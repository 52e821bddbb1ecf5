import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useState, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import { useT } from '../app/i18n.ts';
import { Dialog } from '../shared/Dialog.tsx';
import { Problem } from '../shared/Problem.tsx';
import { preview, remove, type Outcome } from './change.ts';
import type { Key } from './kinds.ts';
import { OutcomeView } from './Outcome.tsx';

/** DeleteDialog shows what the deletion of a policy would do, and deletes it if it would still do that. */
export function DeleteDialog({ of, close, done }: { of: Key; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [outcome, setOutcome] = useState<Outcome>();
  const [again, setAgain] = useState(0);
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<CombinedError>();
  useEffect(() => {
    let latest = true;
    void preview(client, of, { change: 'DELETE' }).then((found) => latest && setOutcome(found));
    return () => {
      latest = false;
    };
  }, [client, of, again]);
  const confirm = async (): Promise<void> => {
    if (outcome === undefined || outcome.is === 'refused') return;
    setBusy(true);
    const refused = await remove(client, of, outcome.of.fingerprint);
    setBusy(false);
    setError(refused);
    if (refused) setAgain((n) => n + 1);
    else done();
  };
  return (
    <Dialog close={close} size="lg" title={t('policies.deleteOf', { name: of.name })}>
      <Stack gap="md">
        <Text size="sm">{t('policies.deleteHint')}</Text>
        {outcome ? <OutcomeView of={outcome} /> : <Text size="sm" role="status">{t('preview.asking')}</Text>}
        <TextInput label={t('action.typeName', { name: of.name })} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} data-autofocus />
        <Problem error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('action.cancel')}
          </Button>
          <Button color="red" disabled={outcome === undefined || outcome.is === 'refused' || typed !== of.name} loading={busy} onClick={() => void confirm()}>
            {t('action.delete')}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
