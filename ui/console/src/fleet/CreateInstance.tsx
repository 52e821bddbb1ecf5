import { Loader, Select, Text, TextInput } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useQuery } from 'urql';

import { graphql } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Problem } from '../shared/Problem.tsx';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
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
  const [{ data: hosts, error: unread }] = useQuery({ query: HostsQuery });
  const [name, setName] = useState('');
  const [alias, setAlias] = useState('');
  const [host, setHost] = useState<string | null>(null);
  const [version, setVersion] = useState('');
  const input = { instance: name.trim(), hostCluster: host ?? '', alias: alias.trim() || null, karmadaVersion: version.trim() || null };
  const trial = useTrial(CreateMutation, input, { fields: ['instance', 'hostCluster', 'alias', 'karmadaVersion'], close, done });
  const { errors } = trial;
  return (
    <TrialDialog of={trial} title={t('fleet.install')} confirm={t('fleet.install')} complete={input.instance !== '' && input.hostCluster !== ''}>
      <Problem error={unread} />
      {hosts === undefined ? (
        <Loader size="sm" />
      ) : (
        <>
          <TextInput label={t('workloads.name')} value={name} onChange={(event) => setName(event.currentTarget.value)} error={errors['instance']} required data-autofocus />
          <TextInput label={t('clusters.alias')} value={alias} onChange={(event) => setAlias(event.currentTarget.value)} error={errors['alias']} />
          <Select
            label={t('instance.host')}
            description={t('fleet.hostHint')}
            data={hosts.clusters.nodes.map((c) => c.name)}
            value={host}
            onChange={setHost}
            error={errors['hostCluster']}
            searchable
            required
          />
          <VersionField
            versions={hosts.karmadaVersions.limited ? hosts.karmadaVersions.nodes.map((v) => v.version) : undefined}
            hint={t('fleet.versionHint')}
            value={version}
            onChange={setVersion}
            error={errors['karmadaVersion']}
          />
          {trial.tried && <Text size="sm" role="status">{t('fleet.installable')}</Text>}
        </>
      )}
    </TrialDialog>
  );
}
