import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';

import { FleetPage } from '../fleet/FleetPage.tsx';
import { readSearch } from '../workloads/search.ts';
import { WorkloadsPage } from '../workloads/WorkloadsPage.tsx';
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

export const router = createRouter({ routeTree: root.addChildren([fleet, workloads, workload, clusters]), defaultPreload: false });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
