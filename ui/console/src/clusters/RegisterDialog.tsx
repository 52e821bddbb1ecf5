import { Alert, Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useState, type FormEvent, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { useLanguage, useT } from '../app/i18n.ts';
import { Facts } from '../shared/Facts.tsx';
import { KubeconfigField } from '../shared/KubeconfigField.tsx';
import { Problem } from '../shared/Problem.tsx';
import { clock } from '../shared/time.ts';
import { Register } from './membership.ts';

type Payload = NonNullable<ResultOf<typeof Register>['registerCluster']>;

/** RegisterDialog adds a cluster to the inventory. Its credentials are tried before they are stored. */
export function RegisterDialog({ close, done }: { close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const language = useLanguage();
  const client = useClient();
  const [name, setName] = useState('');
  const [alias, setAlias] = useState('');
  const [kubeconfig, setKubeconfig] = useState('');
  const [tried, setTried] = useState<{ of: string; payload: Payload }>();
  const [refused, setRefused] = useState<CombinedError>();
  const [busy, setBusy] = useState(false);
  const input = { cluster: name.trim(), kubeconfig, alias: alias.trim() || null };
  const of = JSON.stringify(input);
  const current = tried?.of === of ? tried.payload : undefined;
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const { data, error } = await client.mutation(Register, { input: { ...input, dryRun: current === undefined } }).toPromise();
    setBusy(false);
    setRefused(error);
    const payload = data?.registerCluster;
    if (error || !payload) return;
    if (current === undefined) {
      setTried({ of, payload });
      return;
    }
    done();
    close();
  };
  return (
    <Modal opened onClose={close} title={t('clusters.register')} size="lg">
      <form onSubmit={(event) => void send(event)}>
        <Stack gap="md">
          <TextInput label={t('workloads.name')} description={t('clusters.nameHint')} value={name} onChange={(event) => setName(event.currentTarget.value)} required data-autofocus />
          <TextInput label={t('clusters.alias')} value={alias} onChange={(event) => setAlias(event.currentTarget.value)} />
          <KubeconfigField description={t('clusters.kubeconfigHint')} value={kubeconfig} onChange={setKubeconfig} />
          {current && (
            <Alert color={current.mayJoin === false ? 'orange' : 'teal'} variant="light" className="kairship-alert" role="status" title={t('clusters.reached')}>
              <Facts
                of={[
                  ['kube-system', current.kubeSystemID ?? '–'],
                  [t('clusters.mayJoin'), t(current.mayJoin === false ? 'clusters.no' : 'clusters.yes')],
                  [t('cluster.credentials'), current.credentialsExpireTime ? clock(current.credentialsExpireTime, language, new Date()) : t('cluster.noExpiry')],
                ]}
              />
            </Alert>
          )}
          <Problem error={refused} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('action.cancel')}
            </Button>
            <Button type="submit" loading={busy} disabled={input.cluster === '' || kubeconfig.trim() === ''}>
              {t(current ? 'clusters.register' : 'access.try')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
