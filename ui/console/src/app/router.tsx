import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';

import { readActivitySearch } from '../activity/search.ts';
import { isMemberTab, type MemberTab } from '../clusters/tabs.ts';
import { FleetPage } from '../fleet/FleetPage.tsx';
import { readSearch } from '../workloads/search.ts';
import { WorkloadsPage } from '../workloads/WorkloadsPage.tsx';
import { readPoliciesSearch } from '../policies/search.ts';
import { isTab, type Tab } from '../workload/tabs.ts';
import { NotFound } from './NotFound.tsx';
import { Shell } from './Shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const fleet = createRoute({ getParentRoute: () => root, path: '/', component: FleetPage });
const workloads = createRoute({ getParentRoute: () => root, path: '/workloads', component: WorkloadsPage, validateSearch: readSearch });
const workload = createRoute({
  getParentRoute: () => root,
  path: '/instances/$instance/workloads/$kind/$namespace/$name',
  component: lazyRouteComponent(() => import('../workload/WorkloadPage.tsx'), 'WorkloadPage'),
  validateSearch: (search: Record<string, unknown>): { tab?: Tab } => (isTab(search['tab']) ? { tab: search['tab'] } : {}),
});
const clusters = createRoute({ getParentRoute: () => root, path: '/clusters', component: lazyRouteComponent(() => import('../clusters/ClustersPage.tsx'), 'ClustersPage') });
const policies = createRoute({
  getParentRoute: () => root,
  path: '/policies',
  component: lazyRouteComponent(() => import('../policies/PoliciesPage.tsx'), 'PoliciesPage'),
  validateSearch: readPoliciesSearch,
});
const policy = createRoute({
  getParentRoute: () => root,
  path: '/instances/$instance/policies/$kind/$namespace/$name',
  component: lazyRouteComponent(() => import('../policies/PolicyPage.tsx'), 'PolicyPage'),
  validateSearch: (search: Record<string, unknown>): { tab?: 'edit' } => (search['tab'] === 'edit' ? { tab: 'edit' } : {}),
});
const newPolicy = createRoute({ getParentRoute: () => root, path: '/instances/$instance/new-policy', component: lazyRouteComponent(() => import('../policies/NewPolicyPage.tsx'), 'NewPolicyPage') });
const instance = createRoute({ getParentRoute: () => root, path: '/instances/$instance', component: lazyRouteComponent(() => import('../instances/InstancePage.tsx'), 'InstancePage') });
const member = createRoute({
  getParentRoute: () => root,
  path: '/instances/$instance/clusters/$name',
  component: lazyRouteComponent(() => import('../clusters/MemberPage.tsx'), 'MemberPage'),
  validateSearch: (search: Record<string, unknown>): { tab?: MemberTab } => (isMemberTab(search['tab']) ? { tab: search['tab'] } : {}),
});

const access = createRoute({ getParentRoute: () => root, path: '/instances/$instance/access', component: lazyRouteComponent(() => import('../access/AccessPage.tsx'), 'AccessPage') });
const activity = createRoute({
  getParentRoute: () => root,
  path: '/activity',
  component: lazyRouteComponent(() => import('../activity/ActivityPage.tsx'), 'ActivityPage'),
  validateSearch: readActivitySearch,
});

export const router = createRouter({ routeTree: root.addChildren([fleet, workloads, workload, policies, policy, newPolicy, clusters, instance, access, member, activity]), defaultPreload: false });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
