/** tabs are those of a workload's page. */
export const tabs = ['why', 'graph', 'pods', 'manifest', 'timeline'] as const;
export type Tab = (typeof tabs)[number];

export function isTab(value: unknown): value is Tab {
  return tabs.some((tab) => tab === value);
}
