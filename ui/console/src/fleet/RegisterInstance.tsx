import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useState, type FormEvent, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import { graphql } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Operation } from '../shared/Operation.tsx';
import { KubeconfigField } from '../shared/KubeconfigField.tsx';
import { Problem } from '../shared/Problem.tsx';

const RegisterMutation = graphql(`
  mutation RegisterInstance($input: RegisterInstanceInput!) {
    registerInstance(input: $input) { instance { name } operation }
  }
`);

/** RegisterInstance adds an existing Karmada. It is tried first, and followed until it is in the index. */
export function RegisterInstance({ close, done }: { close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [name, setName] = useState('');
  const [alias, setAlias] = useState('');
  const [version, setVersion] = useState('');
  const [kubeconfig, setKubeconfig] = useState('');
  const [tried, setTried] = useState<string>();
  const [operation, setOperation] = useState<string>();
  const [refused, setRefused] = useState<CombinedError>();
  const [busy, setBusy] = useState(false);
  const input = { instance: name.trim(), kubeconfig, alias: alias.trim() || null, karmadaVersion: version.trim() || null };
  const of = JSON.stringify(input);
  const current = tried === of;
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const { data, error } = await client.mutation(RegisterMutation, { input: { ...input, dryRun: !current } }).toPromise();
    setBusy(false);
    setRefused(error);
    if (error) return;
    if (!current) {
      setTried(of);
      return;
    }
    done();
    const id = data?.registerInstance?.operation;
    if (id == null) close();
    else setOperation(id);
  };
  return (
    <Modal opened onClose={close} title={t('fleet.register')} size="lg">
      <form onSubmit={(event) => void send(event)}>
        <Stack gap="md">
          {operation === undefined ? (
            <>
              <TextInput label={t('workloads.name')} value={name} onChange={(event) => setName(event.currentTarget.value)} required data-autofocus />
              <TextInput label={t('clusters.alias')} value={alias} onChange={(event) => setAlias(event.currentTarget.value)} />
              <TextInput label={t('fleet.version')} placeholder="v1.18.2" value={version} onChange={(event) => setVersion(event.currentTarget.value)} />
              <KubeconfigField description={t('fleet.kubeconfigHint')} value={kubeconfig} onChange={setKubeconfig} />
              {current && <Text size="sm" role="status">{t('fleet.reached')}</Text>}
            </>
          ) : (
            <Operation id={operation} done={done} />
          )}
          <Problem error={refused} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(operation === undefined ? 'action.cancel' : 'bulk.close')}
            </Button>
            {operation === undefined && (
              <Button type="submit" loading={busy} disabled={input.instance === '' || kubeconfig.trim() === ''}>
                {t(current ? 'fleet.register' : 'access.try')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
