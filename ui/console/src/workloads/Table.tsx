import { Box, Text, UnstyledButton } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, type ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { useNow } from '../shared/useNow.ts';
import type { Column } from './columns.tsx';
import type { Order } from './search.ts';
import type { Row } from './usePages.ts';

/** rowHeight is that of each row, in pixels; the headings have it too. */
const rowHeight = 38;
/** ahead is how many rows before the end the next page is read. */
const ahead = 30;

interface Props {
  rows: readonly Row[];
  total: number;
  columns: readonly Column[];
  order: Order;
  sort: (field: Order['field']) => void;
  more: () => void;
  reading: boolean;
}

/** Table shows the rows that are in sight, and reads more of them as they come into it. */
export function Table({ rows, total, columns, order, sort, more, reading }: Props): ReactElement {
  const t = useT();
  const now = useNow();
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => frame.current, estimateSize: () => rowHeight, overscan: 12 });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - ahead) more();
  }, [last, rows.length, more]);

  const template = { gridTemplateColumns: columns.map((c) => c.width).join(' ') };
  const sorted = (c: Column): 'ascending' | 'descending' | 'none' => (c.sort !== order.field ? 'none' : order.direction === 'DESC' ? 'descending' : 'ascending');
  return (
    <Box ref={frame} className="kairship-table" role="table" aria-label={t('workloads.title')} aria-rowcount={total + 1} tabIndex={0}>
      <div className="kairship-row kairship-head" role="row" aria-rowindex={1} style={{ ...template, height: rowHeight }}>
        {columns.map((c) => (
          <div key={c.name} role="columnheader" aria-sort={c.sort ? sorted(c) : undefined}>
            {c.sort ? (
              <UnstyledButton fz="inherit" fw="inherit" onClick={() => c.sort && sort(c.sort)}>
                {t(`workloads.${c.name}`)} {sorted(c) === 'none' ? '' : sorted(c) === 'ascending' ? '↑' : '↓'}
              </UnstyledButton>
            ) : (
              t(`workloads.${c.name}`)
            )}
          </div>
        ))}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {items.map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <div
              key={row.id}
              className="kairship-row"
              role="row"
              aria-rowindex={item.index + 2}
              style={{ ...template, position: 'absolute', top: 0, left: 0, right: 0, height: rowHeight, transform: `translateY(${item.start}px)` }}
            >
              {columns.map((c) => (
                <div key={c.name} role="cell">
                  {c.cell(row, t, now)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {reading && rows.length > 0 && (
        <Text size="xs" p="xs" className="kairship-dimmed" role="status">
          {t('workloads.loadingMore')}
        </Text>
      )}
    </Box>
  );
}
