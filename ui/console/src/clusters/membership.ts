import { graphql, type ResultOf } from '../api/gql.ts';
import { PreviewItemFields } from '../preview/items.ts';

/** Drain empties a member cluster, or with undo has workloads scheduled to it again. */
export const Drain = graphql(
  `
    mutation Drain($input: DrainMemberClusterInput!) {
      drainMemberCluster(input: $input) {
        plan {
          fingerprint
          assumptions
          evicted
          moved
          unchanged
          removed
          unplaced
          items(first: 100, effects: [EVICTED, RESCHEDULED]) { ...PreviewItemFields }
        }
        evicted
        staying
        returning
        operation
      }
    }
  `,
  [PreviewItemFields],
);

export const Unjoin = graphql(`
  mutation Unjoin($input: UnjoinClusterInput!) {
    unjoinCluster(input: $input) {
      requested
      blockedBy { count message objects { kind namespace name } }
      operation
    }
  }
`);

export const Join = graphql(`
  mutation Join($input: JoinClusterInput!) {
    joinCluster(input: $input) { requested operation }
  }
`);

/** MoveCluster has a cluster leave its instance and join another one. */
export const MoveCluster = graphql(`
  mutation MoveCluster($input: MoveClusterInput!) {
    moveCluster(input: $input) {
      requested
      blockedBy { count message objects { kind namespace name } }
      operation
    }
  }
`);

/** JoinableQuery is the instances that a cluster may join. */
export const JoinableQuery = graphql(`
  query Joinable {
    instances(first: 200) { nodes { name alias viewerCan { update } } }
  }
`);

/** joinable are the instances that the caller may have a cluster join, as choices. */
export function joinable(of: ResultOf<typeof JoinableQuery> | undefined): { value: string; label: string }[] {
  return (of?.instances.nodes ?? []).filter((i) => i.viewerCan.update).map((i) => ({ value: i.name, label: i.alias ?? i.name }));
}

export const Register = graphql(`
  mutation Register($input: RegisterClusterInput!) {
    registerCluster(input: $input) { cluster { name } kubeSystemID mayJoin credentialsExpireTime }
  }
`);

/** drainTaint marks a member cluster that is drained. */
const drainTaint = 'kairship.io/drain';

/** isDrained reports whether a member cluster is being drained, or was. */
export function isDrained(taints: readonly { key: string }[]): boolean {
  return taints.some((taint) => taint.key === drainTaint);
}
