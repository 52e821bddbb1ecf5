import { Button, Group, Loader, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useState, type FormEvent, type ReactElement } from 'react';
import { useClient, useQuery, type CombinedError } from 'urql';

import { graphql } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Operation } from '../shared/Operation.tsx';
import { Problem } from '../shared/Problem.tsx';
import { VersionField } from '../shared/VersionField.tsx';

/** HostsQuery is what an instance can be installed on, and in which versions. */
const HostsQuery = graphql(`
  query Hosts {
    clusters(first: 500, filter: { type: [PHYSICAL], ready: true }) { nodes { name } }
    karmadaVersions { limited nodes { version } }
  }
`);

const CreateMutation = graphql(`
  mutation CreateInstance($input: CreateInstanceInput!) {
    createInstance(input: $input) { instance { name } operation }
  }
`);

/** CreateInstance has a new Karmada installed on a cluster of the inventory. It is tried first, and followed until it runs. */
export function CreateInstance({ close, done }: { close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [{ data: hosts, error: unread }] = useQuery({ query: HostsQuery });
  const [name, setName] = useState('');
  const [alias, setAlias] = useState('');
  const [host, setHost] = useState<string | null>(null);
  const [version, setVersion] = useState('');
  const [tried, setTried] = useState<string>();
  const [operation, setOperation] = useState<string>();
  const [refused, setRefused] = useState<CombinedError>();
  const [busy, setBusy] = useState(false);
  const input = { instance: name.trim(), hostCluster: host ?? '', alias: alias.trim() || null, karmadaVersion: version.trim() || null };
  const of = JSON.stringify(input);
  const current = tried === of;
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const { data, error } = await client.mutation(CreateMutation, { input: { ...input, dryRun: !current } }).toPromise();
    setBusy(false);
    setRefused(error);
    if (error) return;
    if (!current) {
      setTried(of);
      return;
    }
    done();
    const id = data?.createInstance?.operation;
    if (id == null) close();
    else setOperation(id);
  };
  return (
    <Modal opened onClose={close} title={t('fleet.install')} size="lg">
      <form onSubmit={(event) => void send(event)}>
        <Stack gap="md">
          <Problem error={unread} />
          {operation !== undefined ? (
            <Operation id={operation} done={done} />
          ) : hosts === undefined ? (
            <Loader size="sm" />
          ) : (
            <>
              <TextInput label={t('workloads.name')} value={name} onChange={(event) => setName(event.currentTarget.value)} required data-autofocus />
              <TextInput label={t('clusters.alias')} value={alias} onChange={(event) => setAlias(event.currentTarget.value)} />
              <Select label={t('instance.host')} description={t('fleet.hostHint')} data={hosts.clusters.nodes.map((c) => c.name)} value={host} onChange={setHost} searchable required />
              <VersionField
                versions={hosts.karmadaVersions.limited ? hosts.karmadaVersions.nodes.map((v) => v.version) : undefined}
                hint={t('fleet.versionHint')}
                value={version}
                onChange={setVersion}
              />
              {current && <Text size="sm" role="status">{t('fleet.installable')}</Text>}
            </>
          )}
          <Problem error={refused} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(operation === undefined ? 'action.cancel' : 'bulk.close')}
            </Button>
            {operation === undefined && (
              <Button type="submit" loading={busy} disabled={input.instance === '' || input.hostCluster === ''}>
                {t(current ? 'fleet.install' : 'access.try')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
