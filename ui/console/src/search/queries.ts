import { graphql } from '../api/gql.ts';

/** SearchQuery finds what fits a text best, in all instances, of the types that have a page here. */
export const SearchQuery = graphql(`
  query Search($text: String!) {
    search(text: $text, first: 30, types: [INSTANCE, CLUSTER, MEMBER_CLUSTER, WORKLOAD, POLICY, POD, NODE, NAMESPACE]) {
      hits {
        type
        kind
        clusterName
        namespace
        name
        matchedBy
        matchedText
        instance { name }
      }
      hasMore
      freshness { stale message }
    }
  }
`);
