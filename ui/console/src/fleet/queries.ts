import { graphql } from '../api/gql.ts';
import { FreshnessFields } from '../shared/Freshness.tsx';

/** FleetQuery is all instances, and what is not well in them. */
export const FleetQuery = graphql(
  `
    query Fleet {
      instances(first: 100) {
        nodes {
          name
          alias
          state
          karmadaVersion
          conditions {
            type
            status
            reason
            message
          }
          summary {
            staleSince
            clusters { total ready }
            nodes { total ready }
            cpu { allocatable allocated }
            memory { allocatable allocated }
            pods { allocatable allocated }
          }
          freshness { ...FreshnessFields }
        }
        freshness { ...FreshnessFields }
      }
      workloads(first: 20, filter: { health: [DEGRADED, UNSCHEDULED, UNPROPAGATED, PROGRESSING, UNKNOWN] }, orderBy: { field: HEALTH, direction: DESC }) {
        totalCount
        nodes {
          kind
          namespace
          name
          health
          healthMessage
          instance { name }
        }
        freshness { ...FreshnessFields }
      }
      counted: workloads(first: 1) {
        facets(fields: [INSTANCE], first: 100) { values { value count } }
      }
      clusters(first: 500) {
        nodes {
          name
          hidden
          credentialsExpireTime
          conditions { type status reason message }
          instance { name }
        }
      }
    }
  `,
  [FreshnessFields],
);

/** FleetChanges reports that an instance changed; the page then asks again. What is selected is what is told. */
export const FleetChanges = graphql(`
  subscription FleetChanges {
    instanceChanged {
      type
      instance {
        alias
        state
        karmadaVersion
        conditions { type status message }
        summary { staleSince clusters { total ready } nodes { total ready } pods { allocated } }
      }
    }
  }
`);

/** ProblemChanges reports that a workload became unwell, or is well again. */
export const ProblemChanges = graphql(`
  subscription ProblemChanges {
    workloadChanged(filter: { health: [DEGRADED, UNSCHEDULED, UNPROPAGATED, PROGRESSING, UNKNOWN] }) {
      type
      workload { health healthMessage }
    }
  }
`);
