import { Button, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useEffect, useState, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Operation } from '../shared/Operation.tsx';
import { Problem } from '../shared/Problem.tsx';
import { LossResult } from './Loss.tsx';
import type { MemberKey } from './member.ts';
import { Drain } from './membership.ts';

type Payload = NonNullable<ResultOf<typeof Drain>['drainMemberCluster']>;

interface Props {
  of: MemberKey;
  /** undo has workloads scheduled to the cluster again. */
  undo: boolean;
  close: () => void;
  done: () => void;
}

/** DrainDialog shows what a drain moves and what stays, begins it, and follows it. */
export function DrainDialog({ of, undo, close, done }: Props): ReactElement {
  const t = useT();
  const client = useClient();
  const [plan, setPlan] = useState<Payload>();
  const [begun, setBegun] = useState<Payload>();
  const [refused, setRefused] = useState<CombinedError>();
  const [again, setAgain] = useState(0);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    let latest = true;
    void client
      .mutation(Drain, { input: { ...of, undo, dryRun: true } })
      .toPromise()
      .then(({ data, error }) => {
        if (!latest) return;
        setPlan(data?.drainMemberCluster ?? undefined);
        setRefused(error);
      });
    return () => {
      latest = false;
    };
  }, [client, of, undo, again]);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    const { data, error } = await client.mutation(Drain, { input: { ...of, undo, expect: plan?.plan?.fingerprint ?? null } }).toPromise();
    setBusy(false);
    setRefused(error);
    if (error) {
      setPlan(undefined);
      setAgain((n) => n + 1); // It would do something else by now.
      return;
    }
    done();
    const payload = data?.drainMemberCluster ?? undefined;
    if (payload?.operation == null) close();
    else setBegun(payload);
  };
  const title = t(undo ? 'cluster.undoDrain' : 'cluster.drain');
  return (
    <Modal opened onClose={close} title={`${title} · ${of.name}`} size="lg">
      <Stack gap="md">
        <Text size="sm">{undo ? t('cluster.undoDrainHint', { count: plan?.returning ?? 0 }) : t('cluster.drainHint')}</Text>
        {begun?.operation != null ? (
          <Operation id={begun.operation} done={done} />
        ) : (
          <>
            {plan === undefined && refused === undefined && <Skeleton h={100} />}
            {plan?.plan && <LossResult of={plan.plan} />}
            {plan && !undo && <Text size="sm">{t('cluster.drainFigures', { evicted: plan.evicted, staying: plan.staying })}</Text>}
          </>
        )}
        <Problem error={refused} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t(begun ? 'bulk.close' : 'action.cancel')}
          </Button>
          {begun === undefined && (
            <Button disabled={plan === undefined} loading={busy} onClick={() => void confirm()} data-autofocus>
              {title}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}
