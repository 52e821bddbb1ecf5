import { initGraphQLTada } from 'gql.tada';

import type { introspection } from './schema';

// The types of all queries follow from the schema: a field that does not exist fails the build.
export const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { Time: string; JSON: unknown; Long: number; LabelSelector: string };
}>();

export type { FragmentOf, ResultOf, VariablesOf } from 'gql.tada';
export { readFragment } from 'gql.tada';
