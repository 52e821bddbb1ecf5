import { useCallback, useEffect, useRef, useState } from 'react';
import { useClient, type CombinedError } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { WorkloadsQuery } from './queries.ts';
import type { Filter, Order } from './search.ts';

type Page = ResultOf<typeof WorkloadsQuery>['workloads'];
export type Row = Page['nodes'][number];

/** pageSize is how many rows one question reads. */
const pageSize = 100;

interface Pages {
  rows: Row[];
  first: Page | undefined;
  error: CombinedError | undefined;
  reading: boolean;
  /** more reads the next page; there is nothing to do where the list is at its end, or is being read. */
  more: () => void;
  /** reload reads the list anew, and keeps what is shown until it is there. */
  reload: () => void;
  /** replace puts rows that changed in the place of those that are shown. */
  replace: (row: Row) => boolean;
}

/** usePages reads a list in pages, as far as it is looked at. */
export function usePages(filter: Filter, orderBy: Order): Pages {
  const client = useClient();
  const [rows, setRows] = useState<Row[]>([]);
  const [first, setFirst] = useState<Page>();
  const [error, setError] = useState<CombinedError>();
  const [reading, setReading] = useState(true);
  const next = useRef<string | null>(null);
  const busy = useRef(false);
  const generation = useRef(0);
  const known = useRef(new Map<string, number>());
  const key = JSON.stringify([filter, orderBy]);

  const read = useCallback(
    async (after: string | null): Promise<void> => {
      const mine = after === null ? ++generation.current : generation.current;
      const [of, order] = JSON.parse(key) as [Filter, Order];
      busy.current = true;
      setReading(true);
      const result = await client.query(WorkloadsQuery, { filter: of, orderBy: order, after, first: pageSize, facets: after === null }).toPromise();
      if (mine !== generation.current) return; // The filter changed meanwhile.
      busy.current = false;
      setReading(false);
      setError(result.error);
      const page = result.data?.workloads;
      if (page === undefined) return;
      next.current = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
      if (after === null) {
        setFirst(page);
        setRows([...page.nodes]);
      } else {
        setRows((before) => [...before, ...page.nodes]);
      }
    },
    [client, key],
  );
  useEffect(() => void read(null), [read]);
  useEffect(() => {
    known.current = new Map(rows.map((row, i) => [row.id, i]));
  }, [rows]);

  const more = useCallback(() => {
    if (!busy.current && next.current !== null) void read(next.current);
  }, [read]);
  const replace = useCallback((row: Row): boolean => {
    const at = known.current.get(row.id);
    if (at === undefined) return false;
    setRows((before) => before.map((old, i) => (i === at ? row : old)));
    return true;
  }, []);
  return { rows, first, error, reading, more, reload: useCallback(() => void read(null), [read]), replace };
}
