import { useCallback, useMemo, useState } from 'react';
import { useClient, useQuery, useSubscription, type CombinedError } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { ActivityAdded, ActivityQuery } from './queries.ts';
import { filterOf, type ActivitySearch } from './search.ts';

type Page = ResultOf<typeof ActivityQuery>['activity'];
export type Entry = Page['nodes'][number];

/** pageSize is how many entries one question reads. */
const pageSize = 50;

interface Entries {
  /** page is the first one as it was read, with its count and freshness. */
  page: Page | undefined;
  entries: readonly Entry[];
  error: CombinedError | undefined;
  fetching: boolean;
  /** more reads the next page; undefined where there is none. */
  more: (() => void) | undefined;
  retry: () => void;
}

/** Rest is what was read behind the first page, for one filter. */
interface Rest {
  of: Page;
  entries: Entry[];
  next: string | null;
}

/** useEntries reads the activity in pages, and puts what is added before them. */
export function useEntries(search: ActivitySearch): Entries {
  const client = useClient();
  const filter = useMemo(() => filterOf(search), [search]);
  const [{ data, error, fetching }, execute] = useQuery({ query: ActivityQuery, variables: { first: pageSize, after: null, filter } });
  const [added, setAdded] = useState<{ filter: typeof filter; entries: Entry[] }>({ filter, entries: [] });
  const [rest, setRest] = useState<Rest>();
  const [failed, setFailed] = useState<CombinedError>();
  useSubscription({ query: ActivityAdded, variables: { filter } }, (_, event) => {
    const entry = event.activityAdded;
    setAdded((before) => ({ filter, entries: [entry, ...(before.filter === filter ? before.entries : [])].slice(0, 500) }));
    return event;
  });
  const page = data?.activity;
  const behind = rest !== undefined && rest.of === page ? rest : undefined;
  const next = behind ? behind.next : page?.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
  const read = useCallback(async (): Promise<void> => {
    if (page === undefined || next === null) return;
    const result = await client.query(ActivityQuery, { first: pageSize, after: next, filter }).toPromise();
    setFailed(result.error);
    const more = result.data?.activity;
    if (more) setRest({ of: page, entries: [...(behind?.entries ?? []), ...more.nodes], next: more.pageInfo.hasNextPage ? more.pageInfo.endCursor : null });
  }, [behind, client, filter, next, page]);
  // What was added while the list was read, or before it was read again, is in both. Entries have no number, and no two are equal.
  const all = new Map([...(added.filter === filter ? added.entries : []), ...(page?.nodes ?? []), ...(behind?.entries ?? [])].map((entry) => [JSON.stringify(entry), entry]));
  return {
    page,
    entries: [...all.values()],
    error: error ?? failed,
    fetching,
    more: next === null ? undefined : () => void read(),
    retry: () => execute({ requestPolicy: 'network-only' }),
  };
}
