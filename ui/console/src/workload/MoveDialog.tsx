import { Alert, MultiSelect, Skeleton, TagsInput, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useClient, useQuery, type CombinedError } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { OutcomeView } from '../policies/Outcome.tsx';
import { Facts } from '../shared/Facts.tsx';
import { Problem } from '../shared/Problem.tsx';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
import type { Key } from './key.ts';
import { MovableQuery, Move, underWay, type Route } from './move.ts';

/** MoveDialog has a workload leave member clusters for others: the plan and what it does first, and the progress afterwards. */
export function MoveDialog({ of, close, done }: { of: Key; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [{ data, error }] = useQuery({ query: MovableQuery, variables: of });
  const policy = data?.instance?.workload?.policy;
  const begun = underWay(policy?.annotations ?? []);
  const [chosen, setChosen] = useState<Route>();
  const route = chosen ?? begun ?? { from: [], to: [] };
  const named = policy?.spec.placement.clusterAffinity?.clusterNames ?? [];
  const members = data?.instance?.memberClusters.nodes.map((m) => m.name) ?? [];
  const input = { ...of, ...route };
  const trial = useTrial(Move, input, { fields: ['from', 'to'], close, done });
  const plan = trial.tried;
  const cancel = async (): Promise<CombinedError | undefined> => (await client.mutation(Move, { input: { ...input, cancel: true } }).toPromise()).error;
  return (
    <TrialDialog
      of={trial}
      title={`${t('action.move')} ${of.namespace}/${of.name}`}
      confirm={t('action.move')}
      complete={route.from.length > 0 && route.to.length > 0}
      cancel={trial.begun?.gradual ? { until: 'HEALTHY', run: cancel } : undefined}
    >
      <Problem error={error} part={data !== undefined} />
      {data === undefined && error === undefined && <Skeleton h={120} />}
      {data && (
        <>
          {begun && <Alert color="blue" variant="light" className="kairship-alert">{t('move.underWay', { from: begun.from.join(', '), to: begun.to.join(', ') })}</Alert>}
          <MultiSelect
            label={t('move.from')}
            description={named.length === 0 ? t('move.unnamed') : t('move.fromHint')}
            data={[...new Set([...named, ...route.from])]}
            value={route.from}
            onChange={(from) => setChosen({ ...route, from })}
            error={trial.errors['from']}
            searchable
            data-autofocus
          />
          <TagsInput
            label={t('move.to')}
            data={members.filter((name) => !route.from.includes(name))}
            value={route.to}
            onChange={(to) => setChosen({ ...route, to })}
            error={trial.errors['to']}
          />
          {plan && <Plan of={plan} />}
        </>
      )}
    </TrialDialog>
  );
}

/** Plan is how the policy changes, and what that does. */
function Plan({ of }: { of: NonNullable<ResultOf<typeof Move>['moveWorkload']> }): ReactElement {
  const t = useT();
  return (
    <section aria-label={t('preview.title')} aria-live="polite">
      <Facts
        of={[
          [t('workload.policy'), [of.policyNamespace, of.policyName].filter(Boolean).join('/')],
          [t('move.before'), of.clustersBefore.join(', ')],
          ...(of.gradual ? [[t('move.during'), of.clustersDuring.join(', ')] as [string, string]] : []),
          [t('move.after'), of.clustersAfter.join(', ')],
        ]}
      />
      <Text size="sm" my="sm">
        {t(of.gradual ? 'move.gradual' : 'move.atOnce')}
      </Text>
      {of.preview && <OutcomeView of={{ is: 'propagation', of: of.preview }} />}
    </section>
  );
}
