import type { ResultOf } from '../api/gql.ts';
import { constant } from '../shared/constant.ts';
import { noNamespace } from '../policies/kinds.ts';
import type { SearchQuery } from './queries.ts';

export type Hit = ResultOf<typeof SearchQuery>['search']['hits'][number];

const policyKinds = ['PropagationPolicy', 'ClusterPropagationPolicy', 'OverridePolicy', 'ClusterOverridePolicy'];
const workloadKinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob'];

const part = (value: string): string => encodeURIComponent(value);
const list = (values: string[]): string => encodeURIComponent(JSON.stringify(values));

/** addressOf is the page that a hit leads to: its own, or the list that it is in. */
export function addressOf(hit: Hit): string {
  const instance = hit.instance?.name;
  const workloads = (text?: string): string => {
    const query = [
      ...(instance === undefined ? [] : [`instance=${list([instance])}`]),
      ...(hit.namespace === null && hit.type !== 'NAMESPACE' ? [] : [`namespace=${list([hit.namespace ?? hit.name])}`]),
      ...(hit.clusterName === null ? [] : [`cluster=${list([hit.clusterName])}`]),
      ...(text === undefined ? [] : [`text=${part(text)}`]),
    ];
    return `/workloads?${query.join('&')}`;
  };
  switch (hit.type) {
    case 'INSTANCE':
      return `/instances/${part(hit.name)}`;
    case 'CLUSTER':
    case 'MEMBER_CLUSTER':
      return instance === undefined ? '/clusters' : `/instances/${part(instance)}/clusters/${part(hit.name)}`;
    case 'NODE':
      return instance === undefined || hit.clusterName === null ? '/clusters' : `/instances/${part(instance)}/clusters/${part(hit.clusterName)}`;
    case 'WORKLOAD':
      if (instance === undefined || !workloadKinds.includes(hit.kind)) return workloads(hit.name);
      return `/instances/${part(instance)}/workloads/${constant(hit.kind)}/${part(hit.namespace ?? '')}/${part(hit.name)}`;
    case 'POLICY':
      if (instance === undefined || !policyKinds.includes(hit.kind)) return '/policies';
      return `/instances/${part(instance)}/policies/${constant(hit.kind)}/${part(hit.namespace ?? noNamespace)}/${part(hit.name)}`;
    default:
      return workloads();
  }
}

/** different leaves out hits that lead where an earlier one of the same name does: a member is also in the inventory. */
export function different(hits: readonly Hit[]): Hit[] {
  const seen = new Set<string>();
  return hits.filter((hit) => {
    const key = `${hit.name} ${addressOf(hit)}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
