import { graphql } from '../api/gql.ts';
import { PolicyPreviewFields } from '../preview/items.ts';

/** PropagationPreview is what a change of a policy would do to objects. */
export const PropagationPreview = graphql(
  `
    query PropagationPreview($instance: String!, $input: PolicyPreviewInput!) {
      instance(name: $instance) {
        policyPreview(input: $input) { ...PolicyPreviewFields }
      }
    }
  `,
  [PolicyPreviewFields],
);

/** OverridePreview is what a change of an override policy would make of what clusters are sent. */
export const OverridePreview = graphql(`
  query OverridePreview($instance: String!, $input: OverridePreviewInput!) {
    instance(name: $instance) {
      overridePreview(input: $input) {
        fingerprint
        assumptions
        failed
        changed
        created
        unchanged
        items(first: 50, effects: [FAILED, CHANGED, CREATED]) {
          kind
          namespace
          name
          clusterName
          effect
          message
          fields { path before after }
          totalFields
        }
      }
    }
  }
`);

export const UpdatePropagation = graphql(`
  mutation UpdatePropagation($input: UpdatePropagationPolicyInput!) {
    updatePropagationPolicy(input: $input) { propagationPolicy { resourceVersion } warnings { message } }
  }
`);
export const UpdateClusterPropagation = graphql(`
  mutation UpdateClusterPropagation($input: UpdateClusterPropagationPolicyInput!) {
    updateClusterPropagationPolicy(input: $input) { clusterPropagationPolicy { resourceVersion } warnings { message } }
  }
`);
export const UpdateOverride = graphql(`
  mutation UpdateOverride($input: UpdateOverridePolicyInput!) {
    updateOverridePolicy(input: $input) { overridePolicy { resourceVersion } warnings { message } }
  }
`);
export const UpdateClusterOverride = graphql(`
  mutation UpdateClusterOverride($input: UpdateClusterOverridePolicyInput!) {
    updateClusterOverridePolicy(input: $input) { clusterOverridePolicy { resourceVersion } warnings { message } }
  }
`);
export const CreatePropagation = graphql(`
  mutation CreatePropagation($input: CreatePropagationPolicyInput!) {
    createPropagationPolicy(input: $input) { consistencyToken }
  }
`);
export const CreateClusterPropagation = graphql(`
  mutation CreateClusterPropagation($input: CreateClusterPropagationPolicyInput!) {
    createClusterPropagationPolicy(input: $input) { consistencyToken }
  }
`);
export const CreateOverride = graphql(`
  mutation CreateOverride($input: CreateOverridePolicyInput!) {
    createOverridePolicy(input: $input) { consistencyToken }
  }
`);
export const CreateClusterOverride = graphql(`
  mutation CreateClusterOverride($input: CreateClusterOverridePolicyInput!) {
    createClusterOverridePolicy(input: $input) { consistencyToken }
  }
`);
export const DeletePropagation = graphql(`
  mutation DeletePropagation($input: DeletePropagationPolicyInput!) {
    deletePropagationPolicy(input: $input) { consistencyToken }
  }
`);
export const DeleteClusterPropagation = graphql(`
  mutation DeleteClusterPropagation($input: DeleteClusterPropagationPolicyInput!) {
    deleteClusterPropagationPolicy(input: $input) { consistencyToken }
  }
`);
export const DeleteOverride = graphql(`
  mutation DeleteOverride($input: DeleteOverridePolicyInput!) {
    deleteOverridePolicy(input: $input) { consistencyToken }
  }
`);
export const DeleteClusterOverride = graphql(`
  mutation DeleteClusterOverride($input: DeleteClusterOverridePolicyInput!) {
    deleteClusterOverridePolicy(input: $input) { consistencyToken }
  }
`);
