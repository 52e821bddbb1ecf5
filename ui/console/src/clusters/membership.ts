import { graphql } from '../api/gql.ts';
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
