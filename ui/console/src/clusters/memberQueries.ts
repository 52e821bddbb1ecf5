import { graphql } from '../api/gql.ts';
import { PreviewItemFields } from '../preview/items.ts';
import { FreshnessFields } from '../shared/Freshness.tsx';

/** MemberQuery is one member cluster, with what is known of it and what runs there. */
export const MemberQuery = graphql(
  `
    query Member($instance: String!, $name: String!) {
      viewer { can(instance: $instance, namespace: "") { update } }
      instance(name: $instance) {
        memberCluster(name: $name) {
          name
          managed
          syncMode
          apiEndpoint
          provider
          region
          zones
          ready
          conditions { type status reason message lastTransitionTime }
          kubernetesVersion
          taints { key value effect timeAdded }
          nodes { total ready }
          cpu { allocatable allocated }
          memory { allocatable allocated }
          pods { allocatable allocated }
          labels { key value }
          createdAt
          resourceVersion
          cluster { credentialsExpireTime }
          freshness { ...FreshnessFields }
        }
        workloads(first: 100, filter: { cluster: [$name] }, orderBy: { field: HEALTH }) {
          totalCount
          nodes { kind namespace name health healthMessage replicas { desired ready } placements { clusterName } }
        }
        propagationPolicies(first: 100, filter: { cluster: [$name] }) { totalCount nodes { namespace name } }
        clusterPropagationPolicies(first: 100, filter: { cluster: [$name] }) { totalCount nodes { name } }
      }
    }
  `,
  [FreshnessFields],
);

/** NodesQuery is the nodes of a member cluster, for users with a role on the whole instance. */
export const NodesQuery = graphql(
  `
    query Nodes($instance: String!, $name: String!) {
      instance(name: $instance) {
        memberCluster(name: $name) {
          clusterNodes(first: 200) {
            totalCount
            nodes {
              name
              ready
              unschedulable
              roles
              kubeletVersion
              taints { key value effect }
              allocatable { cpu memory pods }
              conditions { type status message }
            }
            freshness { ...FreshnessFields }
          }
        }
      }
    }
  `,
  [FreshnessFields],
);

/** MemberChanges reports that a member cluster changed, and the page then asks again. Only changes of what is selected are sent. */
export const MemberChanges = graphql(`
  subscription MemberChanges($filter: MemberClusterChangeFilter) {
    memberClusterChanged(filter: $filter) {
      type
      memberCluster {
        ready
        kubernetesVersion
        taints { key effect }
        labels { key value }
        conditions { type status reason }
        nodes { total ready }
        pods { allocated }
      }
    }
  }
`);

/** LossQuery is what becomes of what is in a cluster when it is lost, or cordoned. */
export const LossQuery = graphql(
  `
    query Loss($instance: String!, $name: String!, $mode: ClusterLossMode!, $assume: PreviewAssumptionsInput) {
      instance(name: $instance) {
        clusterLossPreview(clusters: [$name], mode: $mode, assume: $assume) {
          fingerprint
          assumptions
          evicted
          moved
          unchanged
          removed
          unplaced
          items(first: 100, effects: [LOST, HANDED_OVER, TAKEN_OVER, CLAIMED, EVICTED, RESCHEDULED]) { ...PreviewItemFields }
        }
      }
    }
  `,
  [PreviewItemFields],
);

export const Cordon = graphql(`
  mutation Cordon($input: CordonMemberClusterInput!) {
    cordonMemberCluster(input: $input) { memberCluster { resourceVersion } }
  }
`);

export const Uncordon = graphql(`
  mutation Uncordon($input: UncordonMemberClusterInput!) {
    uncordonMemberCluster(input: $input) { memberCluster { resourceVersion } }
  }
`);
