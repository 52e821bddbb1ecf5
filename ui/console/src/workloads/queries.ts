import { graphql } from '../api/gql.ts';
import { FreshnessFields } from '../shared/Freshness.tsx';

/** WorkloadRow is what a row of the table shows. */
export const WorkloadRow = graphql(`
  fragment WorkloadRow on Workload @_unmask {
    id
    kind
    namespace
    name
    health
    healthMessage
    images
    createdAt
    replicas { desired ready }
    placements { clusterName }
    instance { name }
  }
`);

/** WorkloadsQuery is a page of the table; the first one brings the facets along. */
export const WorkloadsQuery = graphql(
  `
    query Workloads($filter: WorkloadFilter, $orderBy: WorkloadOrder, $after: String, $first: Int!, $facets: Boolean!) {
      workloads(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
        totalCount
        nodes { ...WorkloadRow }
        pageInfo { hasNextPage endCursor }
        facets(fields: [HEALTH, INSTANCE, KIND, NAMESPACE, CLUSTER, IMAGE], first: 12) @include(if: $facets) {
          field
          totalValues
          values { value count }
        }
        freshness { ...FreshnessFields }
      }
    }
  `,
  [WorkloadRow, FreshnessFields],
);

/** WorkloadChanges are the changes of what the table lists. */
export const WorkloadChanges = graphql(
  `
    subscription WorkloadChanges($filter: WorkloadFilter) {
      workloadChanged(filter: $filter) {
        type
        workload { ...WorkloadRow }
      }
    }
  `,
  [WorkloadRow],
);
