import { Skeleton, Text, TextInput } from '@mantine/core';
import { useState, type ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
import { Blocked } from './Blocked.tsx';
import type { MemberKey } from './member.ts';
import { Unjoin } from './membership.ts';

/** LeaveDialog has a cluster leave its instance. It says first what is still sent there. */
export function LeaveDialog({ of, close, done }: { of: MemberKey; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const [force, setForce] = useState(false);
  const [typed, setTyped] = useState('');
  const trial = useTrial(Unjoin, { instance: of.instance, cluster: of.name }, { automatic: true, confirmed: () => ({ force }), close, done });
  const blocked = trial.tried?.blockedBy ?? undefined;
  return (
    <TrialDialog of={trial} title={`${t('cluster.leave')} · ${of.name}`} confirm={t('cluster.leave')} color="red" complete={typed === of.name && (blocked === undefined || force)}>
      <Text size="sm">{t('cluster.leaveHint', { cluster: of.name, instance: of.instance })}</Text>
      {trial.tried === undefined && trial.refused === undefined && <Skeleton h={60} />}
      {blocked && <Blocked by={blocked} force={force} setForce={setForce} />}
      {trial.tried && <TextInput label={t('action.typeName', { name: of.name })} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} />}
    </TrialDialog>
  );
}
