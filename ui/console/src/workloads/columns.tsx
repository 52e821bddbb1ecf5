import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { useT } from '../app/i18n.ts';
import { Health } from '../shared/Health.tsx';
import { age } from '../shared/time.ts';
import type { Order } from './search.ts';
import type { Row } from './usePages.ts';

type T = ReturnType<typeof useT>;

export interface Column {
  name: 'name' | 'kind' | 'namespace' | 'instance' | 'health' | 'ready' | 'clusters' | 'images' | 'age';
  width: string;
  sort?: Order['field'];
  cell: (row: Row, t: T, now: number) => ReactNode;
}

/** columns are all that the table may have, in their order. */
export const columns: readonly Column[] = [
  {
    name: 'name', width: 'minmax(140px, 2fr)', sort: 'NAME',
    cell: (row) => (
      <Link
        to="/instances/$instance/workloads/$kind/$namespace/$name"
        params={{ instance: row.instance.name, kind: row.kind, namespace: row.namespace, name: row.name }}
        title={row.name}
      >
        {row.name}
      </Link>
    ),
  },
  { name: 'health', width: '110px', sort: 'HEALTH', cell: (row) => <span title={row.healthMessage ?? undefined}><Health value={row.health} /></span> },
  { name: 'ready', width: '70px', sort: 'READY', cell: (row) => (row.replicas.desired === null ? '–' : `${row.replicas.ready ?? 0}/${row.replicas.desired}`) },
  { name: 'kind', width: '110px', cell: (row, t) => t(`kind.${row.kind}`) },
  { name: 'namespace', width: 'minmax(90px, 1fr)', sort: 'NAMESPACE', cell: (row) => row.namespace },
  { name: 'instance', width: 'minmax(80px, 1fr)', cell: (row) => row.instance.name },
  { name: 'clusters', width: 'minmax(80px, 1fr)', cell: (row) => row.placements.map((p) => p.clusterName).join(', ') || '–' },
  { name: 'images', width: 'minmax(120px, 2fr)', cell: (row) => <span className="kairship-mono" title={row.images.join('\n')}>{row.images.join(', ')}</span> },
  { name: 'age', width: '60px', sort: 'CREATED_AT', cell: (row, _, now) => age(row.createdAt, now) },
];

const storageKey = 'kairship.columns';
/** narrow are the columns of a narrow screen. */
const narrow: readonly Column['name'][] = ['name', 'health', 'ready'];

export function shownColumns(hidden: readonly string[], isNarrow: boolean): Column[] {
  return columns.filter((c) => (isNarrow ? narrow.includes(c.name) : c.name === 'name' || !hidden.includes(c.name)));
}

export function readHidden(): string[] {
  return (localStorage.getItem(storageKey) ?? '').split(',').filter((name) => columns.some((c) => c.name === name));
}

export function writeHidden(hidden: readonly string[]): void {
  localStorage.setItem(storageKey, hidden.join(','));
}
