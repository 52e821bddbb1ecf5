import { graphql } from '../api/gql.ts';
import { FreshnessFields } from '../shared/Freshness.tsx';

/** InstanceQuery is one instance: how it is, its members, and how its workloads are. */
export const InstanceQuery = graphql(
  `
    query Instance($name: String!) {
      instance(name: $name) {
        name
        alias
        mode
        state
        conditions { type status reason message lastTransitionTime }
        karmadaVersion
        kubernetesVersion
        createdAt
        labels { key value }
        hostCluster { name }
        resourceVersion
        upgradeVersions
        viewerCan { update }
        summary {
          staleSince
          clusters { total ready }
          nodes { total ready }
          cpu { allocatable allocated }
          memory { allocatable allocated }
          pods { allocatable allocated }
          policies { kind total }
        }
        freshness { ...FreshnessFields }
        memberClusters(first: 200) {
          totalCount
          nodes {
            name
            ready
            kubernetesVersion
            provider
            region
            zones
            taints { key effect }
            nodes { total ready }
            cpu { allocatable allocated }
            memory { allocatable allocated }
            pods { allocatable allocated }
            cluster { credentialsExpireTime }
          }
        }
        workloads(first: 10, filter: { health: [DEGRADED, UNSCHEDULED, UNPROPAGATED, PROGRESSING, UNKNOWN] }, orderBy: { field: HEALTH }) {
          totalCount
          nodes { kind namespace name health healthMessage replicas { desired ready } placements { clusterName } }
        }
        all: workloads(first: 1) {
          totalCount
          facets(fields: [HEALTH]) { field values { value count } }
        }
      }
    }
  `,
  [FreshnessFields],
);

/** InstanceEventsQuery is the latest warnings of the instance itself. */
export const InstanceEventsQuery = graphql(`
  query InstanceEvents($name: String!) {
    instance(name: $name) {
      events(first: 30, filter: { type: "Warning" }, orderBy: { field: CREATED_AT, direction: DESC }) {
        nodes { reason message count involvedKind involvedNamespace involvedName lastSeen }
      }
    }
  }
`);

/** OneInstanceChanges reports that the instance changed, and the page then asks again. Only changes of what is selected are sent. */
export const OneInstanceChanges = graphql(`
  subscription OneInstanceChanges($filter: InstanceFilter) {
    instanceChanged(filter: $filter) {
      type
      instance { alias state karmadaVersion conditions { type status reason } summary { staleSince clusters { total ready } nodes { total ready } pods { allocated } } }
    }
  }
`);
