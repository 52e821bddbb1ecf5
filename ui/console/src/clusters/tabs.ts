/** memberTabs are those of a member cluster's page. */
export const memberTabs = ['overview', 'workloads', 'nodes', 'loss'] as const;
export type MemberTab = (typeof memberTabs)[number];

export function isMemberTab(value: unknown): value is MemberTab {
  return memberTabs.some((tab) => tab === value);
}
