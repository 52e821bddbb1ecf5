import { readSearch, type Search } from './search.ts';

/** View is a named state of the table. Views are kept in the browser. */
export interface View {
  name: string;
  search: Search;
}

const storageKey = 'kairship.views';

/** readViews reads the views of this browser, and leaves out what it does not know. */
export function readViews(storage: Pick<Storage, 'getItem'> = localStorage): View[] {
  try {
    const stored: unknown = JSON.parse(storage.getItem(storageKey) ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored
      .filter((v): v is { name: string; search: Record<string, unknown> } => typeof v?.name === 'string' && typeof v?.search === 'object' && v.search !== null)
      .map((v) => ({ name: v.name, search: readSearch(v.search) }));
  } catch {
    return []; // It was written by something else.
  }
}

export function writeViews(views: readonly View[], storage: Pick<Storage, 'setItem'> = localStorage): void {
  storage.setItem(storageKey, JSON.stringify(views));
}

/** withView is the views with one more, by name; one of the same name is replaced. */
export function withView(views: readonly View[], view: View): View[] {
  return [...views.filter((v) => v.name !== view.name), view].sort((a, b) => a.name.localeCompare(b.name));
}
