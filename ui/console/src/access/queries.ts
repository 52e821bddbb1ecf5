import { graphql } from '../api/gql.ts';
import { FreshnessFields } from '../shared/Freshness.tsx';

/** AccessQuery is who has which role on an instance, as far as the caller may see it. */
export const AccessQuery = graphql(
  `
    query Access($instance: String!) {
      viewer { can(instance: $instance) { manageAccess } }
      instance(name: $instance) {
        roleBindings(first: 500) {
          totalCount
          nodes {
            name
            subjectKind
            subject
            role
            namespaces
            source
            grantedBy
            revoked
            ready
            conditions { type status message }
          }
          freshness { ...FreshnessFields }
        }
      }
    }
  `,
  [FreshnessFields],
);

/** WhoCanQuery is who may do something; it is refused to those who may not manage access. */
export const WhoCanQuery = graphql(`
  query WhoCan($instance: String!, $namespace: String, $verb: AccessVerb!, $resource: String!) {
    whoCan(instance: $instance, namespace: $namespace, verb: $verb, resource: $resource) {
      subjects { kind name bindings { name role } }
    }
  }
`);

export const Grant = graphql(`
  mutation Grant($input: GrantInstanceRoleInput!) {
    grantInstanceRole(input: $input) { unchanged binding { name } }
  }
`);

export const Revoke = graphql(`
  mutation Revoke($input: RevokeInstanceRoleInput!) {
    revokeInstanceRole(input: $input) { binding { name } }
  }
`);
