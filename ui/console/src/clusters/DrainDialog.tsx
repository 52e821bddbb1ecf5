import { Skeleton, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
import { LossResult } from './Loss.tsx';
import type { MemberKey } from './member.ts';
import { Drain } from './membership.ts';

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
  const trial = useTrial(Drain, { ...of, undo }, { automatic: true, confirmed: ({ plan }) => ({ expect: plan?.fingerprint ?? null }), close, done });
  const plan = trial.tried;
  const title = t(undo ? 'cluster.undoDrain' : 'cluster.drain');
  return (
    <TrialDialog of={trial} title={`${title} · ${of.name}`} confirm={title}>
      <Text size="sm">{undo ? t('cluster.undoDrainHint', { count: plan?.returning ?? 0 }) : t('cluster.drainHint')}</Text>
      {plan === undefined && trial.refused === undefined && <Skeleton h={100} />}
      {plan?.plan && <LossResult of={plan.plan} />}
      {plan && !undo && <Text size="sm">{t('cluster.drainFigures', { evicted: plan.evicted, staying: plan.staying })}</Text>}
    </TrialDialog>
  );
}
