import { Alert, Button, Checkbox, Group, List, Modal, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useState, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Operation } from '../shared/Operation.tsx';
import { Problem } from '../shared/Problem.tsx';
import type { MemberKey } from './member.ts';
import { Unjoin } from './membership.ts';

type Payload = NonNullable<ResultOf<typeof Unjoin>['unjoinCluster']>;

/** LeaveDialog has a cluster leave its instance. It says first what is still sent there. */
export function LeaveDialog({ of, close, done }: { of: MemberKey; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [force, setForce] = useState(false);
  const [tried, setTried] = useState<Payload>();
  const [begun, setBegun] = useState<Payload>();
  const [refused, setRefused] = useState<CombinedError>();
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    let latest = true;
    void client
      .mutation(Unjoin, { input: { instance: of.instance, cluster: of.name, force: false, dryRun: true } })
      .toPromise()
      .then(({ data, error }) => {
        if (!latest) return;
        setTried(data?.unjoinCluster ?? undefined);
        setRefused(error);
      });
    return () => {
      latest = false;
    };
  }, [client, of]);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    const { data, error } = await client.mutation(Unjoin, { input: { instance: of.instance, cluster: of.name, force } }).toPromise();
    setBusy(false);
    setRefused(error);
    if (error) return;
    done();
    setBegun(data?.unjoinCluster ?? undefined);
  };
  const blocked = tried?.blockedBy ?? undefined;
  return (
    <Modal opened onClose={close} title={`${t('cluster.leave')} · ${of.name}`} size="lg">
      <Stack gap="md">
        {begun?.operation != null ? (
          <Operation id={begun.operation} done={done} />
        ) : (
          <>
            <Text size="sm">{t('cluster.leaveHint', { cluster: of.name, instance: of.instance })}</Text>
            {tried === undefined && refused === undefined && <Skeleton h={60} />}
            {blocked && (
              <Alert color="orange" variant="light" className="kairship-alert" title={t('cluster.blocked', { count: blocked.count })}>
                <List size="sm">
                  {blocked.objects.map((o) => (
                    <List.Item key={`${o.kind} ${o.namespace} ${o.name}`}>{[o.kind, [o.namespace, o.name].filter(Boolean).join('/')].join(' ')}</List.Item>
                  ))}
                </List>
                <Checkbox mt="sm" label={t('cluster.leaveAnyway')} checked={force} onChange={(event) => setForce(event.currentTarget.checked)} />
              </Alert>
            )}
            {tried && <TextInput label={t('action.typeName', { name: of.name })} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} data-autofocus />}
          </>
        )}
        <Problem error={refused} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t(begun ? 'bulk.close' : 'action.cancel')}
          </Button>
          {begun === undefined && (
            <Button color="red" disabled={tried === undefined || typed !== of.name || (blocked !== undefined && !force)} loading={busy} onClick={() => void confirm()}>
              {t('cluster.leave')}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}
