import { graphql } from '../api/gql.ts';

/** PreviewItemFields are what a change would do to one object. */
export const PreviewItemFields = graphql(`
  fragment PreviewItemFields on PreviewItem @_unmask {
    kind
    namespace
    name
    effect
    policyBefore { namespace name }
    policyAfter { namespace name }
    placementsBefore { clusterName replicas }
    placementsAfter { clusterName replicas }
    removedFrom
    unplaced
    message
  }
`);
