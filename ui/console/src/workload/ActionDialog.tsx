import { Alert, Button, Group, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useState, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import { useT } from '../app/i18n.ts';
import { Dialog } from '../shared/Dialog.tsx';
import { Problem } from '../shared/Problem.tsx';
import { run, type Action, type Choice } from './actions.ts';
import type { Workload } from './layout.ts';
import type { Key } from './key.ts';

interface Props {
  action: Action;
  of: Key;
  workload: Workload;
  /** revision is the one that a rollback goes back to. */
  revision?: Choice['revision'];
  close: () => void;
  done: () => void;
}

/** ActionDialog asks for what an action needs, has the instance try it, and does it when it is confirmed. */
export function ActionDialog({ action, of, workload, revision, close, done }: Props): ReactElement {
  const t = useT();
  const client = useClient();
  const first = workload.template.containers[0];
  const [choice, setChoice] = useState<Choice>({
    replicas: workload.template.replicas ?? 1,
    container: first?.name ?? '',
    image: first?.image ?? '',
    ...(revision && { revision }),
  });
  const [settled] = useDebouncedValue(choice, 300);
  const [tried, setTried] = useState<{ of: Choice; error: CombinedError | undefined }>();
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<CombinedError>();

  useEffect(() => {
    let current = true;
    void run(client, action, of, workload, settled, true).then((refused) => {
      if (current) setTried({ of: settled, error: refused });
    });
    return () => {
      current = false;
    };
    // The workload goes on changing while the dialog is open; what was chosen is what is tried.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [client, action, settled]);

  const ready = tried !== undefined && tried.of === choice && tried.error === undefined && (action !== 'delete' || typed === workload.name);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    const refused = await run(client, action, of, workload, choice, false);
    setBusy(false);
    setError(refused);
    if (refused === undefined) {
      done();
      close();
    }
  };
  return (
    <Dialog close={close} title={`${t(`action.${action}`)} ${workload.namespace}/${workload.name}`}>
      <Stack gap="md">
        {action === 'scale' && (
          <NumberInput
            label={t('action.replicas')}
            description={`${t('action.before')}: ${workload.template.replicas ?? '–'}`}
            min={0}
            max={10_000}
            value={choice.replicas}
            onChange={(value) => setChoice({ ...choice, replicas: Number(value) || 0 })}
            data-autofocus
          />
        )}
        {action === 'image' && (
          <>
            <Select
              label={t('action.container')}
              data={workload.template.containers.map((c) => c.name)}
              value={choice.container}
              allowDeselect={false}
              onChange={(name) => setChoice({ ...choice, container: name ?? '', image: workload.template.containers.find((c) => c.name === name)?.image ?? '' })}
            />
            <TextInput label={t('action.newImage')} value={choice.image} onChange={(event) => setChoice({ ...choice, image: event.currentTarget.value })} data-autofocus />
          </>
        )}
        {action === 'rollback' && revision && <Text size="sm">{t('action.toRevision', { number: revision.toRevision, cluster: revision.cluster })}</Text>}
        {action === 'delete' && (
          <>
            <Text size="sm">{t('action.deleteWarning')}</Text>
            <TextInput label={t('action.typeName', { name: workload.name })} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} data-autofocus />
          </>
        )}
        {tried === undefined || tried.of !== choice ? (
          <Text size="sm" className="kairship-dimmed" role="status">
            {t('action.trying')}
          </Text>
        ) : tried.error ? (
          <Problem error={tried.error} />
        ) : (
          <Alert color="teal" variant="light" role="status" className="kairship-alert">
            {t('action.tried')}
          </Alert>
        )}
        <Problem error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('action.cancel')}
          </Button>
          <Button color={action === 'delete' ? 'red' : undefined} disabled={!ready} loading={busy} onClick={() => void confirm()}>
            {t('action.confirm')}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
