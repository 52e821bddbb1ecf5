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

/** PolicyPreviewFields are what a change of a policy would do to objects. */
export const PolicyPreviewFields = graphql(
  `
    fragment PolicyPreviewFields on PolicyPreview @_unmask {
      fingerprint
      assumptions
      claimed
      lost
      takenOver
      handedOver
      moved
      removed
      unplaced
      items(first: 50, effects: [LOST, HANDED_OVER, TAKEN_OVER, CLAIMED, EVICTED, RESCHEDULED]) { ...PreviewItemFields }
    }
  `,
  [PreviewItemFields],
);
