import { useGraphiQL } from '@graphiql/react';
import { useState, useSyncExternalStore } from 'react';

import { cellsOf, columnsOf, type Entry, isWhole, KEPT } from './fold';
import { type Live, live } from './store';

// SHOWN is how many objects of the list are drawn.
const SHOWN = 500;

// LivePanel shows the subscription of the tab, in place of the response.
export function LivePanel() {
  const tab = useGraphiQL((state) => state.tabs[state.activeTabIndex]?.id ?? '');
  const followed = useSyncExternalStore(live.subscribe, () => live.of(tab));
  if (!followed) return null;
  return (
    <section className="kairship-live" aria-label="Subscription">
      <p className="kairship-live-state" role="status" data-phase={followed.phase}>
        {stateOf(followed)}
      </p>
      <List followed={followed} />
      <Log followed={followed} />
    </section>
  );
}

function stateOf({ phase, count, synced }: Live) {
  if (phase === 'stopped') return 'Stopped. Run it again to follow on.';
  if (phase === 'ended') return 'Over: nothing follows.';
  if (count === 0) return 'Waiting for the first event…';
  return synced ? 'Following.' : 'Reading what there is…';
}

function List({ followed }: { followed: Live }) {
  const items = [...followed.items];
  const rows = items.slice(0, SHOWN).map(([id, item]) => ({ id, old: item.old, cells: cellsOf(item) }));
  const columns = columnsOf(rows.map(({ cells }) => cells));
  const missing = items.length - SHOWN;
  return (
    <div className="kairship-live-part">
      <h2 id="kairship-live-list">
        List <Count of={items.length} what="object" />
        {items.length > 0 && !isWhole(followed) && <em> not whole</em>}
      </h2>
      {followed.problem && <p role="alert">{followed.problem}</p>}
      {/* The keyboard scrolls what has the focus. */}
      <div className="kairship-live-scroll" tabIndex={0} role="region" aria-labelledby="kairship-live-list">
        {items.length > 0 && (
          <table>
            <thead>
              <tr>{columns.map((column) => <th key={column} scope="col">{column}</th>)}</tr>
            </thead>
            <tbody>
              {rows.map(({ id, old, cells }) => (
                <tr key={id} data-old={old} title={old ? 'The instance does not answer: this may have changed.' : undefined}>
                  {columns.map((column, i) => <td key={column}>{old && i === 0 && 'old: '}{cells[column]}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {missing > 0 && <p>{missing} more are not drawn.</p>}
      </div>
    </div>
  );
}

function Log({ followed: { entries, count, synced } }: { followed: Live }) {
  return (
    <div className="kairship-live-part">
      <h2 id="kairship-live-log">
        Events <Count of={count} what="event" />
      </h2>
      {/* What there is is not read out; what changes is. */}
      <div className="kairship-live-scroll" role="log" aria-labelledby="kairship-live-log" aria-busy={!synced} tabIndex={0}>
        <ol>
          {entries.map((entry) => <Row key={entry.number} entry={entry} />)}
          {count > KEPT && <li>The {count - KEPT} events before these are not kept.</li>}
        </ol>
      </div>
    </div>
  );
}

function Row({ entry: { at, type, about, note, event } }: { entry: Entry }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <time dateTime={at.toISOString()}>{clock(at)}</time> <strong data-type={type}>{type}</strong> <span>{about}</span>{' '}
          <small>{note}</small>
        </summary>
        {open && <pre>{JSON.stringify(event, null, 2)}</pre>}
      </details>
    </li>
  );
}

const Count = ({ of, what }: { of: number; what: string }) => <small>{of} {of === 1 ? what : `${what}s`}</small>;

// clock returns the local time with milliseconds, in the order that sorts.
const clock = (at: Date) =>
  `${at.toLocaleTimeString('sv')}.${String(at.getMilliseconds()).padStart(3, '0')}`;
