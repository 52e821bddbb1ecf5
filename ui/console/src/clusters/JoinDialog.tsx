import { Select, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { Problem } from '../shared/Problem.tsx';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
import { Join, joinable, JoinableQuery } from './membership.ts';

/** JoinDialog has a free cluster become a member of an instance, after the instance was asked whether it could. */
export function JoinDialog({ cluster, close, done }: { cluster: string; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const [{ data, error }] = useQuery({ query: JoinableQuery });
  const [instance, setInstance] = useState<string | null>(null);
  const trial = useTrial(Join, { instance: instance ?? '', cluster }, { fields: ['instance'], close, done });
  return (
    <TrialDialog of={trial} title={t('cluster.joinOf', { cluster })} confirm={t('cluster.join')} complete={instance !== null}>
      <Select label={t('clusters.instance')} data={joinable(data)} value={instance} onChange={setInstance} error={trial.errors['instance']} searchable data-autofocus />
      {trial.tried && <Text size="sm" role="status">{t('action.tried')}</Text>}
      <Problem error={error} />
    </TrialDialog>
  );
}
