import type { VariablesOf } from '../api/gql.ts';
import type { ActivityQuery } from './queries.ts';

export type Filter = NonNullable<VariablesOf<typeof ActivityQuery>['filter']>;
export type Outcome = NonNullable<Filter['outcomes']>[number];

export const outcomes = ['SUCCEEDED', 'REFUSED', 'FAILED'] as const satisfies readonly Outcome[];

/** ActivitySearch is all of the page's state that the address has. */
export interface ActivitySearch {
  instance?: string;
  user?: string;
  name?: string;
  outcome?: Outcome;
}

/** readActivitySearch reads the address, and leaves out what it does not know. */
export function readActivitySearch(raw: Record<string, unknown>): ActivitySearch {
  const search: ActivitySearch = {};
  for (const part of ['instance', 'user', 'name'] as const) {
    const value = raw[part];
    if ((typeof value === 'string' || typeof value === 'number') && value !== '') search[part] = String(value);
  }
  const outcome = outcomes.find((o) => o === raw['outcome']);
  if (outcome) search.outcome = outcome;
  return search;
}

/** filterOf is the filter of the query. */
export function filterOf(search: ActivitySearch): Filter {
  const filter: Filter = {};
  if (search.instance) filter.instances = [search.instance];
  if (search.user) filter.users = [search.user];
  if (search.name) filter.names = [search.name];
  if (search.outcome) filter.outcomes = [search.outcome];
  return filter;
}
