import { graphql } from '../api/gql.ts';
import { FreshnessFields } from '../shared/Freshness.tsx';

const SelectorFields = graphql(`
  fragment SelectorFields on ResourceSelector @_unmask {
    kind
    namespace
    name
    labelSelector { matchLabels { key value } matchExpressions { key operator values } }
  }
`);

const AffinityFields = graphql(`
  fragment AffinityFields on ClusterAffinity @_unmask {
    clusterNames
    exclude
    labelSelector { matchLabels { key value } matchExpressions { key operator values } }
    fieldSelector { matchExpressions { key operator values } }
  }
`);

/** PropagationFields are what the list shows of a policy that says where objects go. */
export const PropagationFields = graphql(
  `
    fragment PropagationFields on PropagationPolicyLike @_unmask {
      namespace
      name
      deleting
      spec {
        resourceSelectors { ...SelectorFields }
        placement {
          clusterAffinity { ...AffinityFields }
          clusterAffinities { affinityName clusterNames }
          replicaScheduling { replicaSchedulingType replicaDivisionPreference }
        }
      }
      all: workloads(first: 1) { totalCount }
      unwell: workloads(first: 1, filter: { health: [DEGRADED, UNSCHEDULED, UNPROPAGATED] }) { totalCount }
    }
  `,
  [SelectorFields, AffinityFields],
);

/** OverrideFields are what the list shows of a policy that says how objects differ. */
export const OverrideFields = graphql(
  `
    fragment OverrideFields on OverridePolicyLike @_unmask {
      namespace
      name
      deleting
      spec {
        resourceSelectors { ...SelectorFields }
        overrideRules { targetCluster { ...AffinityFields } }
      }
    }
  `,
  [SelectorFields, AffinityFields],
);

/** PoliciesQuery is the policies of one instance. */
export const PoliciesQuery = graphql(
  `
    query Policies($instance: String!, $filter: PolicyFilter) {
      instance(name: $instance) {
        name
        propagationPolicies(first: 200, filter: $filter) { totalCount nodes { ...PropagationFields } freshness { ...FreshnessFields } }
        clusterPropagationPolicies(first: 200, filter: $filter) { totalCount nodes { ...PropagationFields } }
        overridePolicies(first: 200, filter: $filter) { totalCount nodes { ...OverrideFields } }
        clusterOverridePolicies(first: 200, filter: $filter) { totalCount nodes { ...OverrideFields } }
      }
    }
  `,
  [PropagationFields, OverrideFields, FreshnessFields],
);

/** InstanceNamesQuery is the instances to choose from. */
export const InstanceNamesQuery = graphql(`
  query InstanceNames {
    instances(first: 200) { nodes { name alias viewerCan { create } } }
  }
`);

/** MemberNamesQuery is the clusters that a policy may place objects in. */
export const MemberNamesQuery = graphql(`
  query MemberNames($instance: String!) {
    instance(name: $instance) { memberClusters(first: 500) { nodes { name } } }
  }
`);

/** NamespaceNamesQuery is the namespaces that a policy may be in, and whether the caller may create anything in one. */
export const NamespaceNamesQuery = graphql(`
  query NamespaceNames($instance: String!) {
    instance(name: $instance) { viewerCan { create } namespaces(first: 500) { nodes { name } } }
  }
`);

/** PolicyChanges reports that a policy changed, and the page then asks again. Only changes of what is selected are sent. */
export const PolicyChanges = graphql(`
  subscription PolicyChanges($filter: PolicyChangeFilter) {
    policyChanged(filter: $filter) { type policy { resourceVersion } }
  }
`);

const OneFields = graphql(
  `
    fragment OneFields on Policy @_unmask {
      namespace
      name
      deleting
      createdAt
      resourceVersion
      labels { key value }
      manifest
      freshness { ...FreshnessFields }
    }
  `,
  [FreshnessFields],
);

const GovernedFields = graphql(
  `
    fragment GovernedFields on PropagationPolicyLike @_unmask {
      ...PropagationFields
      viewerCan { update delete }
      workloads(first: 100, orderBy: { field: HEALTH }) {
        totalCount
        nodes { kind namespace name health healthMessage replicas { desired ready } placements { clusterName } }
      }
    }
  `,
  [PropagationFields],
);

const OverridingFields = graphql(`fragment OverridingFields on OverridePolicyLike @_unmask { ...OverrideFields viewerCan { update delete } }`, [OverrideFields]);

/** PolicyQuery is one policy, of the kind whose variable is true. */
export const PolicyQuery = graphql(
  `
    query Policy($instance: String!, $namespace: String!, $name: String!, $pp: Boolean!, $cpp: Boolean!, $op: Boolean!, $cop: Boolean!) {
      instance(name: $instance) {
        propagationPolicy(namespace: $namespace, name: $name) @include(if: $pp) { ...OneFields ...GovernedFields }
        clusterPropagationPolicy(name: $name) @include(if: $cpp) { ...OneFields ...GovernedFields }
        overridePolicy(namespace: $namespace, name: $name) @include(if: $op) { ...OneFields ...OverridingFields }
        clusterOverridePolicy(name: $name) @include(if: $cop) { ...OneFields ...OverridingFields }
      }
    }
  `,
  [OneFields, GovernedFields, OverridingFields],
);
