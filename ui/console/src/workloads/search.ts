import type { ResultOf, VariablesOf } from '../api/gql.ts';
import type { WorkloadsQuery } from './queries.ts';

type Variables = VariablesOf<typeof WorkloadsQuery>;
export type Filter = NonNullable<Variables['filter']>;
export type Order = NonNullable<Variables['orderBy']>;
export type FacetField = NonNullable<ResultOf<typeof WorkloadsQuery>['workloads']['facets']>[number]['field'];

/** lists are the parts of the address that have several values, each with the field of the filter that it is. */
const lists = { health: 'health', instance: 'instances', kind: 'kinds', namespace: 'namespaces', cluster: 'cluster', image: 'images' } as const;
export type ListName = keyof typeof lists;

/** facetOf is the part of the address that a facet's values go into. */
export const facetOf: Partial<Record<FacetField, ListName>> = {
  HEALTH: 'health', INSTANCE: 'instance', KIND: 'kind', NAMESPACE: 'namespace', CLUSTER: 'cluster', IMAGE: 'image',
};

/** Search is all of the table's state that the address has. */
export type Search = { [name in ListName]?: string[] } & { text?: string; labels?: string; sort?: Order['field']; descending?: true };

const sorts: readonly Order['field'][] = ['NAME', 'NAMESPACE', 'CREATED_AT', 'HEALTH', 'READY'];

/** readSearch reads the address, and leaves out what it does not know. */
export function readSearch(raw: Record<string, unknown>): Search {
  const search: Search = {};
  for (const name of Object.keys(lists) as ListName[]) {
    const value = raw[name];
    const values = (Array.isArray(value) ? value : value === undefined ? [] : [value]).map(String).filter((text) => text !== '');
    if (values.length > 0) search[name] = values;
  }
  if (typeof raw['text'] === 'string' && raw['text'] !== '') search.text = raw['text'];
  if (typeof raw['labels'] === 'string' && raw['labels'] !== '') search.labels = raw['labels'];
  const sort = sorts.find((field) => field === raw['sort']);
  if (sort) search.sort = sort;
  if (raw['descending'] === true) search.descending = true;
  return search;
}

/** filterOf is the filter of the query. */
export function filterOf(search: Search): Filter {
  const filter: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(lists)) {
    const values = search[name as ListName];
    if (values) filter[field] = values;
  }
  if (search.text) filter['text'] = search.text;
  if (search.labels) filter['labelSelector'] = search.labels;
  return filter as Filter; // The server says so where a value is none of the schema's.
}

/** orderOf is the order of the query: the worst health first, unless told. */
export function orderOf(search: Search): Order {
  if (search.sort === undefined) return { field: 'HEALTH', direction: 'DESC' };
  return { field: search.sort, direction: search.descending ? 'DESC' : 'ASC' };
}

/** toggled is a list of values with one more, or without it. */
export function toggled(values: string[] | undefined, value: string): string[] | undefined {
  const next = values?.includes(value) ? values.filter((v) => v !== value) : [...(values ?? []), value];
  return next.length > 0 ? next : undefined;
}
