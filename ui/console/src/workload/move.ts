import { graphql } from '../api/gql.ts';
import { PolicyPreviewFields } from '../preview/items.ts';

/** MovableQuery is what a workload may move between, and the policy that says where it is. */
export const MovableQuery = graphql(`
  query Movable($instance: String!, $kind: WorkloadKind!, $namespace: String!, $name: String!) {
    instance(name: $instance) {
      memberClusters(first: 500) { nodes { name } }
      workload(kind: $kind, namespace: $namespace, name: $name) {
        policy { annotations { key value } spec { placement { clusterAffinity { clusterNames } } } }
      }
    }
  }
`);

export const Move = graphql(
  `
    mutation Move($input: MoveWorkloadInput!) {
      moveWorkload(input: $input) {
        policyNamespace
        policyName
        clustersBefore
        clustersDuring
        clustersAfter
        gradual
        preview { ...PolicyPreviewFields }
        operation
      }
    }
  `,
  [PolicyPreviewFields],
);

/** Route is which clusters a workload leaves and enters. */
export interface Route {
  from: string[];
  to: string[];
}

/** underWay is the route of a move that a policy records; undefined for none. */
export function underWay(annotations: readonly { key: string; value: string }[]): Route | undefined {
  const [from, to] = ['from', 'to'].map((end) => annotations.find(({ key }) => key === `kairship.io/move-${end}`)?.value);
  return from && to ? { from: from.split(','), to: to.split(',') } : undefined;
}
