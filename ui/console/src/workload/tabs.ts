import type { Workload } from './layout.ts';

/** tabs are those of a workload's page. */
export const tabs = ['why', 'graph', 'pods', 'manifest', 'revisions', 'timeline'] as const;
export type Tab = (typeof tabs)[number];

export function isTab(value: unknown): value is Tab {
  return tabs.some((tab) => tab === value);
}

/** tabsOf are those that a kind of workload has: member clusters keep revisions of three kinds. */
export function tabsOf(kind: Workload['kind']): Tab[] {
  const kept = kind === 'DEPLOYMENT' || kind === 'STATEFUL_SET' || kind === 'DAEMON_SET';
  return tabs.filter((tab) => tab !== 'revisions' || kept);
}
