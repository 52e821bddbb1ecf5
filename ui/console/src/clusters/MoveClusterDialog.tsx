import { Button, Select, Text, TextInput } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useClient, useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { RefusedButton } from '../shared/RefusedButton.tsx';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
import { Blocked } from './Blocked.tsx';
import type { MemberKey } from './member.ts';
import { joinable, JoinableQuery, MoveCluster } from './membership.ts';

interface Props {
  of: MemberKey;
  close: () => void;
  done: () => void;
}

/** MoveClusterButton offers the move to another instance to those who may change one. */
export function MoveClusterButton({ of, done }: Omit<Props, 'close'>): ReactElement | null {
  const t = useT();
  const [opened, setOpened] = useState(false);
  const [{ data }] = useQuery({ query: JoinableQuery });
  const others = joinable(data).filter(({ value }) => value !== of.instance);
  if (data === undefined) return null;
  if (others.length === 0) return <RefusedButton label={t('cluster.move')} reason={t('cluster.moveNowhere')} size="xs" />;
  return (
    <>
      <Button variant="default" size="xs" onClick={() => setOpened(true)}>
        {t('cluster.move')}
      </Button>
      {opened && <MoveClusterDialog of={of} others={others} close={() => setOpened(false)} done={done} />}
    </>
  );
}

/** MoveClusterDialog has a cluster leave its instance for another one. It says first what keeps it there. */
function MoveClusterDialog({ of, others, close, done }: Props & { others: { value: string; label: string }[] }): ReactElement {
  const t = useT();
  const client = useClient();
  const [to, setTo] = useState<string | null>(null);
  const [force, setForce] = useState(false);
  const [typed, setTyped] = useState('');
  const input = { instance: of.instance, cluster: of.name, to: to ?? '' };
  const trial = useTrial(MoveCluster, input, { fields: ['to'], confirmed: () => ({ force }), close, done });
  const { tried } = trial;
  const blocked = tried?.blockedBy ?? undefined;
  const complete = to !== null && (tried === undefined || (typed === of.name && (blocked === undefined || force)));
  // Until it has left, the move the other way takes it back.
  const back = async () => (await client.mutation(MoveCluster, { input: { instance: input.to, cluster: of.name, to: of.instance } }).toPromise()).error;
  return (
    <TrialDialog of={trial} title={`${t('cluster.move')} · ${of.name}`} confirm={t('cluster.moveConfirm')} color={blocked && 'red'} complete={complete} cancel={{ until: 'LEFT', run: back }}>
      <Select label={t('clusters.instance')} data={others} value={to} onChange={setTo} error={trial.errors['to']} searchable data-autofocus />
      {tried && <Text size="sm" role="status">{t('cluster.movePlan', { cluster: of.name, from: of.instance, to })}</Text>}
      {blocked && <Blocked by={blocked} force={force} setForce={setForce} />}
      {tried && <TextInput label={t('action.typeName', { name: of.name })} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} />}
    </TrialDialog>
  );
}
