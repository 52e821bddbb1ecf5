import type { ResultOf } from '../api/gql.ts';
import type { useT } from '../app/i18n.ts';
import { affinityText, selectorText } from './describe.ts';
import type { Key, PolicyKind } from './kinds.ts';
import type { OverrideFields, PoliciesQuery, PropagationFields } from './queries.ts';

type T = ReturnType<typeof useT>;
type Instance = NonNullable<ResultOf<typeof PoliciesQuery>['instance']>;
type Propagation = ResultOf<typeof PropagationFields>;
type Override = ResultOf<typeof OverrideFields>;

/** Row is one policy of the list. */
export interface Row extends Key {
  deleting: boolean;
  selects: string[];
  clusters: string[];
  divided: 'DUPLICATED' | 'DIVIDED' | null;
  /** workloads and unwell are counts; null for policies that claim none. */
  workloads: number | null;
  unwell: number | null;
}

/** clustersOf writes where a policy places what it selects. */
export function clustersOf({ spec }: Propagation, t: T): string[] {
  const { clusterAffinities, clusterAffinity } = spec.placement;
  if (clusterAffinities.length > 0) return clusterAffinities.map((a) => `${a.affinityName}: ${a.clusterNames.join(', ') || '…'}`);
  return [affinityText(clusterAffinity, t)];
}

/** rulesOf writes for which clusters an override policy has rules. */
export function rulesOf({ spec }: Override, t: T): string[] {
  return [...new Set(spec.overrideRules.map((rule) => affinityText(rule.targetCluster, t)))];
}

/** rowsOf is the list of all policies of an instance, those of a namespace first. */
export function rowsOf(instance: Instance, t: T): Row[] {
  const key = (kind: PolicyKind, p: { namespace: string | null; name: string }): Key => ({ instance: instance.name, kind, namespace: p.namespace, name: p.name });
  const propagation = (kind: PolicyKind) => (p: Propagation): Row => ({
    ...key(kind, p),
    deleting: p.deleting,
    selects: p.spec.resourceSelectors.map((s) => selectorText(s, t)),
    clusters: clustersOf(p, t),
    divided: p.spec.placement.replicaScheduling?.replicaSchedulingType ?? null,
    workloads: p.all.totalCount,
    unwell: p.unwell.totalCount,
  });
  const override = (kind: PolicyKind) => (p: Override): Row => ({
    ...key(kind, p),
    deleting: p.deleting,
    selects: p.spec.resourceSelectors.length > 0 ? p.spec.resourceSelectors.map((s) => selectorText(s, t)) : [t('policies.everything')],
    clusters: rulesOf(p, t),
    divided: null,
    workloads: null,
    unwell: null,
  });
  return [
    ...instance.propagationPolicies.nodes.map(propagation('PROPAGATION_POLICY')),
    ...instance.clusterPropagationPolicies.nodes.map(propagation('CLUSTER_PROPAGATION_POLICY')),
    ...instance.overridePolicies.nodes.map(override('OVERRIDE_POLICY')),
    ...instance.clusterOverridePolicies.nodes.map(override('CLUSTER_OVERRIDE_POLICY')),
  ];
}

/** totalOf is how many policies match, of which the list may show fewer. */
export function totalOf(instance: Instance): number {
  return [instance.propagationPolicies, instance.clusterPropagationPolicies, instance.overridePolicies, instance.clusterOverridePolicies].reduce((sum, list) => sum + (list.totalCount ?? list.nodes.length), 0);
}
