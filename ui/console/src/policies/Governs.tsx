import { Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactElement, ReactNode } from 'react';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Facts } from '../shared/Facts.tsx';
import { WorkloadLines } from '../shared/WorkloadLines.tsx';
import { affinityText, selectorText } from './describe.ts';
import type { PolicyQuery } from './queries.ts';
import { clustersOf } from './rows.ts';

type Instance = NonNullable<ResultOf<typeof PolicyQuery>['instance']>;
type Propagation = NonNullable<Instance['propagationPolicy']> | NonNullable<Instance['clusterPropagationPolicy']>;
type Override = NonNullable<Instance['overridePolicy']> | NonNullable<Instance['clusterOverridePolicy']>;

const lines = (of: readonly string[]): ReactNode => of.map((text) => <div key={text}>{text}</div>);

/** Governs is what a policy selects, where it places it, and the workloads that it claimed, the worst first. */
export function Governs({ instance, policy }: { instance: string; policy: Propagation }): ReactElement {
  const t = useT();
  const scheduling = policy.spec.placement.replicaScheduling;
  const divided = scheduling?.replicaSchedulingType === 'DIVIDED';
  const total = policy.workloads.totalCount ?? policy.workloads.nodes.length;
  return (
    <Stack gap="lg">
      <Facts
        of={[
          [t('policies.selects'), lines(policy.spec.resourceSelectors.map((s) => selectorText(s, t)))],
          [t('policies.clusters'), lines(clustersOf(policy, t))],
          [t('policies.replicas'), divided ? t(scheduling.replicaDivisionPreference === 'WEIGHTED' ? 'policies.weighted' : 'policies.aggregated') : t('policies.duplicated')],
        ]}
      />
      <Stack gap="xs" component="section" aria-labelledby="governed">
        <Title order={2} id="governed">
          {t('fleet.workloads', { count: total })}
        </Title>
        <Paper withBorder>
          {policy.workloads.nodes.length === 0 ? (
            <Empty title={t('policies.governsNone')} hint={t('policies.governsNoneHint')} />
          ) : (
            <WorkloadLines of={policy.workloads.nodes} instance={instance} />
          )}
          {total > policy.workloads.nodes.length && (
            <Text size="xs" px="md" py="xs" className="kairship-dimmed">
              {t('preview.rest', { count: total - policy.workloads.nodes.length })}
            </Text>
          )}
        </Paper>
      </Stack>
    </Stack>
  );
}

/** Rules is what an override policy selects, and for which clusters it has rules. */
export function Rules({ policy }: { policy: Override }): ReactElement {
  const t = useT();
  const { resourceSelectors, overrideRules } = policy.spec;
  return (
    <Facts
      of={[
        [t('policies.selects'), resourceSelectors.length > 0 ? lines(resourceSelectors.map((s) => selectorText(s, t))) : t('policies.everything')],
        [t('policies.rules'), lines(overrideRules.map((rule, i) => `${i + 1}. ${affinityText(rule.targetCluster, t)}`))],
      ]}
    />
  );
}
