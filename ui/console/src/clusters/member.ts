import type { ResultOf } from '../api/gql.ts';
import type { MemberQuery } from './memberQueries.ts';

export type Member = NonNullable<NonNullable<ResultOf<typeof MemberQuery>['instance']>['memberCluster']>;

/** MemberKey names a member cluster, as the variables of its queries. */
export interface MemberKey {
  instance: string;
  name: string;
}

/** cordonTaint is the taint that cordoning sets, as karmadactl does. */
const cordonTaint = 'cluster.karmada.io/unschedulable';

/** isCordoned reports whether nothing new is scheduled to a cluster. */
export function isCordoned(taints: readonly { key: string; effect: string }[]): boolean {
  return taints.some((taint) => taint.key === cordonTaint && taint.effect === 'NoSchedule');
}
