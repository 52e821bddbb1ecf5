import { graphql } from '../api/gql.ts';
import { FreshnessFields } from '../shared/Freshness.tsx';

export const EntryFields = graphql(`
  fragment EntryFields on ActivityEntry @_unmask {
    at
    user
    impersonatedUser
    way
    mutation
    verb
    outcome
    code
    instanceName
    kind
    namespace
    name
  }
`);

/** ActivityQuery is a page of who changed what, the latest first. */
export const ActivityQuery = graphql(
  `
    query Activity($first: Int!, $after: String, $filter: ActivityFilter) {
      activity(first: $first, after: $after, filter: $filter) {
        totalCount
        nodes { ...EntryFields }
        pageInfo { hasNextPage endCursor }
        freshness { ...FreshnessFields }
      }
    }
  `,
  [EntryFields, FreshnessFields],
);

/** ActivityAdded is what is added from now on. */
export const ActivityAdded = graphql(
  `
    subscription ActivityAdded($filter: ActivityFilter) {
      activityAdded(filter: $filter) { ...EntryFields }
    }
  `,
  [EntryFields],
);
