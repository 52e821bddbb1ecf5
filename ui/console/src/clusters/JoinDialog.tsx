import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core';
import { useState, type FormEvent, type ReactElement } from 'react';
import { useClient, useQuery, type CombinedError } from 'urql';

import { graphql } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Operation } from '../shared/Operation.tsx';
import { Problem } from '../shared/Problem.tsx';
import { Join } from './membership.ts';

const JoinableQuery = graphql(`
  query Joinable {
    instances(first: 200) { nodes { name alias viewerCan { update } } }
  }
`);

/** JoinDialog has a free cluster become a member of an instance, after the instance was asked whether it could. */
export function JoinDialog({ cluster, close, done }: { cluster: string; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [{ data, error }] = useQuery({ query: JoinableQuery });
  const [instance, setInstance] = useState<string | null>(null);
  const [tried, setTried] = useState<string>();
  const [operation, setOperation] = useState<string>();
  const [refused, setRefused] = useState<CombinedError>();
  const [busy, setBusy] = useState(false);
  const current = tried !== undefined && tried === instance;
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (instance === null) return;
    setBusy(true);
    const result = await client.mutation(Join, { input: { instance, cluster, dryRun: !current } }).toPromise();
    setBusy(false);
    setRefused(result.error);
    if (result.error) return;
    if (!current) {
      setTried(instance);
      return;
    }
    done();
    setOperation(result.data?.joinCluster?.operation ?? undefined);
  };
  return (
    <Modal opened onClose={close} title={t('cluster.joinOf', { cluster })}>
      <form onSubmit={(event) => void send(event)}>
        <Stack gap="md">
          {operation === undefined ? (
            <Select
              label={t('clusters.instance')}
              data={data?.instances.nodes.filter((i) => i.viewerCan.update).map((i) => ({ value: i.name, label: i.alias ?? i.name })) ?? []}
              value={instance}
              onChange={setInstance}
              searchable
              data-autofocus
            />
          ) : (
            <Operation id={operation} done={done} />
          )}
          {current && operation === undefined && <Text size="sm" role="status">{t('action.tried')}</Text>}
          <Problem error={refused ?? error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(operation === undefined ? 'action.cancel' : 'bulk.close')}
            </Button>
            {operation === undefined && (
              <Button type="submit" loading={busy} disabled={instance === null}>
                {t(current ? 'cluster.join' : 'access.try')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
