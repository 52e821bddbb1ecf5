// What a subscription says, as a log of its events and as the list that they make.
// Pure: the clock is passed in.

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

// Entry is an event in the log.
export interface Entry {
  number: number;
  at: Date;
  type: string;
  // about names the object, or the instance and the kind that the event is about.
  about: string;
  // note is the message of the event, or the fields that changed.
  note: string;
  event: Json;
}

// Item is an object in the list.
export interface Item {
  object: JsonObject;
  instanceName: string | null;
  kind: string | null;
  // old is set while the instance does not answer about the kind.
  old: boolean;
}

export interface Followed {
  // entries are the latest events, the newest first.
  entries: Entry[];
  // count is how many events there were.
  count: number;
  items: ReadonlyMap<string, Item>;
  // synced is set once everything that there is was told.
  synced: boolean;
  // gaps are the parts of the list that are told anew, until their SYNCED.
  gaps: ReadonlySet<string>;
  // problem says why there is no list, or why it may lack something.
  problem: string | null;
}

// KEPT is how many events the log keeps.
export const KEPT = 500;

export const nothing: Followed = { entries: [], count: 0, items: new Map(), synced: false, gaps: new Set(), problem: null };

const NO_IDS = 'No list: select type, and id on the object.';
const UNSCOPED = 'A GAP was about a part of the list. Select instanceName and kind, and only that part is read again.';

// isWhole reports whether the list is what the query with the same filter would list.
export const isWhole = ({ synced, gaps, problem }: Followed) => synced && gaps.size === 0 && problem === null;

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);

// nameOf returns a name for a person, of the fields that are selected.
function nameOf(object: JsonObject, instanceName: string | null): string {
  const instance = isObject(object.instance) ? textOf(object.instance.name) : instanceName;
  const path = [textOf(object.namespace), textOf(object.name)].filter(Boolean).join('/');
  const parts = [instance, textOf(object.kind) ?? textOf(object.__typename), path];
  return parts.filter(Boolean).join(' ') || (textOf(object.id) ?? '');
}

// push appends an event: the value of the subscription's field.
export function push(state: Followed, event: Json, at: Date): Followed {
  if (!isObject(event)) return logged(state, at, { type: 'VALUE', about: '', note: '', event });
  const type = textOf(event.type);
  const object = Object.values(event).find(isObject);
  const instanceName = textOf(event.instanceName);
  const kind = textOf(event.kind);
  const scope = [instanceName, kind].filter(Boolean).join(' ');
  const changed = Array.isArray(event.changedFields) ? event.changedFields.join(', ') : '';
  const next = logged(state, at, {
    type: type ?? textOf(event.state) ?? 'VALUE',
    about: (type && object && nameOf(object, instanceName)) || scope,
    note: textOf(event.message) ?? changed,
    event,
  });
  // The progress of an operation is one thing that changes.
  if (!type && textOf(event.state)) return { ...next, synced: true, items: new Map([['', item(event, null, null)]]) };
  return folded(next, event, type, object);
}

// fail appends the errors that a result carries.
export function fail(state: Followed, errors: readonly { message: string }[], at: Date): Followed {
  const event = JSON.parse(JSON.stringify({ errors })) as Json;
  return logged(state, at, { type: 'ERROR', about: '', note: errors.map(({ message }) => message).join('; '), event });
}

// reconnect begins the list again: the server tells all that there is.
export function reconnect(state: Followed, at: Date): Followed {
  const note = 'The connection broke. Once it is back, what there is comes again.';
  return { ...logged(state, at, { type: 'RECONNECTING', about: '', note, event: null }), items: new Map(), synced: false, gaps: new Set() };
}

function logged(state: Followed, at: Date, entry: Omit<Entry, 'number' | 'at'>): Followed {
  const count = state.count + 1;
  return { ...state, count, entries: [{ number: count, at, ...entry }, ...state.entries].slice(0, KEPT) };
}

const item = (object: JsonObject, instanceName: string | null, kind: string | null): Item => ({
  object, instanceName, kind, old: false,
});

function folded(state: Followed, event: JsonObject, type: string | null, object: JsonObject | undefined): Followed {
  const instanceName = textOf(event.instanceName);
  const kind = textOf(event.kind);
  const within = (one: Item) =>
    (instanceName === null || one.instanceName === instanceName) && (kind === null || one.kind === kind);
  const scope = `${instanceName} ${kind}`;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const id = object && textOf(object.id);
      if (!object || !id) return { ...state, problem: NO_IDS };
      const items = new Map(state.items);
      if (type === 'DELETED') items.delete(id);
      else items.set(id, item(object, instanceName, kind));
      return { ...state, items };
    }
    case 'SYNCED':
      if (instanceName === null) return { ...state, synced: true, gaps: new Set() };
      return { ...state, gaps: new Set([...state.gaps].filter((gap) => gap !== scope)) };
    case 'GAP': {
      // Without these fields any object may be concerned. All are forgotten, and those that are not told again are missing.
      const scoped = 'instanceName' in event && 'kind' in event;
      if (!scoped) return { ...state, items: new Map(), problem: UNSCOPED };
      const gaps = new Set([...state.gaps, scope]);
      return { ...state, gaps, items: new Map([...state.items].filter(([, one]) => !within(one))) };
    }
    case 'INTERRUPTED':
    case 'RESTORED': {
      const old = type === 'INTERRUPTED';
      return { ...state, items: new Map([...state.items].map(([id, one]) => [id, within(one) ? { ...one, old } : one])) };
    }
    default:
      return { ...state, problem: NO_IDS };
  }
}

const IDENTITY = ['instanceName', 'instance.name', 'kind', '__typename', 'namespace', 'name'];

// columnsOf returns the columns of a list, what names an object first.
export function columnsOf(rows: Record<string, string>[]): string[] {
  const paths = new Set(rows.flatMap(Object.keys));
  const rank = (path: string) => (IDENTITY.includes(path) ? IDENTITY.indexOf(path) : IDENTITY.length);
  return [...paths].sort((a, b) => rank(a) - rank(b));
}

// cellsOf returns the values of an object by the paths of its fields, two levels deep: scalars, lists of strings, and
// the lengths of other lists.
export function cellsOf({ object, instanceName }: Item): Record<string, string> {
  const cells: Record<string, string> = {};
  const read = (value: Json, path: string, depth: number) => {
    if (isObject(value)) {
      if (depth < 2) Object.entries(value).forEach(([key, inner]) => read(inner, path ? `${path}.${key}` : key, depth + 1));
    } else if (Array.isArray(value)) {
      cells[path] = value.every((one) => typeof one === 'string') ? value.join(', ') : `${value.length}`;
    } else {
      cells[path] = value === null ? '' : `${value}`;
    }
  };
  if (instanceName !== null && !isObject(object.instance)) cells.instanceName = instanceName;
  const { id: _, ...rest } = object;
  read(rest, '', 0);
  return cells;
}
