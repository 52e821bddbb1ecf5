import { graphql } from '../api/gql.ts';
import { FreshnessFields } from '../shared/Freshness.tsx';

/** ClustersQuery is the inventory, and the members of all instances. */
export const ClustersQuery = graphql(
  `
    query Clusters {
      clusters(first: 500, filter: { type: PHYSICAL }) {
        totalCount
        nodes {
          name
          hidden
          alias
          provider
          region
          zone
          kubernetesVersion
          credentialsExpireTime
          conditions { type status message }
          instance { name }
          summary {
            nodes { total ready }
            cpu { allocatable allocated }
            memory { allocatable allocated }
            pods { allocatable allocated }
          }
        }
        freshness { ...FreshnessFields }
      }
    }
  `,
  [FreshnessFields],
);

export const ClusterChanges = graphql(`
  subscription ClusterChanges {
    clusterChanged {
      type
      cluster {
        alias
        kubernetesVersion
        credentialsExpireTime
        conditions { type status message }
        instance { name }
        summary { nodes { total ready } pods { allocated } }
      }
    }
  }
`);
