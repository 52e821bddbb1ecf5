// The subscriptions that the page's tabs ran last: GraphiQL runs one at a time, and
// a tab that is opened again shows what it had.

import type { GraphQLAnswer } from '../session';
import { fail, type Followed, type Json, nothing, push, reconnect } from './fold';

export type Phase = 'running' | 'ended' | 'stopped';

export interface Live extends Followed {
  phase: Phase;
}

// Run receives what one subscription says.
export interface Run {
  push(result: GraphQLAnswer): void;
  fail(result: GraphQLAnswer): void;
  reconnecting(): void;
  end(phase: Phase): void;
}

// PACE is how long events are collected for one rendering, in milliseconds.
const PACE = 50;

const listeners = new Set<() => void>();
const byTab = new Map<string, Live>();
let activeTab = '';
let due: ReturnType<typeof setTimeout> | undefined;

function changed() {
  due ??= setTimeout(show, PACE);
}

// show renders at once: what a tab followed before is not to be taken for what it follows now.
function show() {
  clearTimeout(due);
  due = undefined;
  listeners.forEach((listener) => listener());
}

// valueOf returns the value of the subscription's only field.
const valueOf = (data: GraphQLAnswer['data']): Json => (data ? ((Object.values(data)[0] ?? null) as Json) : null);

export const live = {
  subscribe(listener: () => void) {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  },

  of: (tab: string): Live | undefined => byTab.get(tab),

  // open says which tab is shown and which ones there are.
  open(tab: string, tabs: string[]) {
    activeTab = tab;
    for (const known of byTab.keys()) if (!tabs.includes(known)) byTab.delete(known);
  },

  // clear forgets what the tab that is shown followed, when it runs something else.
  clear() {
    if (byTab.delete(activeTab)) show();
  },

  // begin starts a log in the tab that is shown.
  begin(): Run {
    const tab = activeTab;
    const update = (change: (state: Live) => Partial<Live>) => {
      const state = byTab.get(tab);
      if (!state) return;
      byTab.set(tab, { ...state, ...change(state) });
      changed();
    };
    // A subscription that never began has no log: the response says why.
    const failed = (errors: GraphQLAnswer['errors']) => {
      if (byTab.get(tab)?.count === 0) {
        byTab.delete(tab);
        changed();
      } else if (errors?.length) update((state) => fail(state, errors, new Date()));
    };
    byTab.set(tab, { ...nothing, phase: 'running' });
    show();
    return {
      push({ data, errors }) {
        if (data) update((state) => push(state, valueOf(data), new Date()));
        if (errors?.length) failed(errors);
      },
      fail({ errors }) {
        failed(errors);
        this.end('ended');
      },
      reconnecting: () => update((state) => reconnect(state, new Date())),
      end: (phase) => update(() => ({ phase })),
    };
  },
};
