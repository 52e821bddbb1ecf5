import type { ResultOf } from '../api/gql.ts';
import type { HealthValue } from '../shared/Health.tsx';
import type { WorkloadQuery } from './queries.ts';

export type Workload = NonNullable<NonNullable<ResultOf<typeof WorkloadQuery>['instance']>['workload']>;
type Placement = Workload['placements'][number];

/** Box is a node of the graph: what it is, its name, and its state. */
export interface Box {
  id: string;
  /** column is that of what it is: template, policy, binding, cluster, object, pods. */
  column: number;
  row: number;
  kind: 'template' | 'policy' | 'binding' | 'overrides' | 'cluster' | 'pods' | 'folded';
  title: string;
  detail: string;
  health?: HealthValue;
  /** count is how many clusters are folded. */
  count?: number;
}

export interface Graph {
  boxes: Box[];
  arrows: [from: string, to: string][];
}

/** foldedFrom is from how many healthy clusters on they are one box, unless they are unfolded. */
export const foldedFrom = 4;
/** atOnce is how many clusters are drawn, and how many more with each step of unfolding: thousands at once would take seconds. */
export const atOnce = 50;

const podsOf = (p: Placement): string => {
  const pods = p.object?.pods ?? [];
  return pods.length === 0 ? '' : `${pods.filter((pod) => pod.ready).length}/${pods.length}`;
};

/**
 * layout places the parts of a propagation in columns, in the order in which each leads to the next. Clusters that are not
 * healthy come first; steps is how often more were asked for.
 */
export function layout(w: Workload, steps: number): Graph {
  const boxes: Box[] = [{ id: 'template', column: 0, row: 0, kind: 'template', title: w.name, detail: w.namespace, health: w.health }];
  const arrows: Graph['arrows'] = [];
  let before = 'template';
  const then = (box: Box): void => {
    boxes.push(box);
    arrows.push([before, box.id]);
    before = box.id;
  };
  then({ id: 'policy', column: 1, row: 0, kind: 'policy', title: w.policy?.name ?? '', detail: w.policy?.__typename ?? '' });
  if (w.binding === null) return { boxes, arrows };
  then({ id: 'binding', column: 2, row: 0, kind: 'binding', title: w.binding.name, detail: '' });
  if (w.overridePolicies.length > 0) {
    then({ id: 'overrides', column: 3, row: 0, kind: 'overrides', title: w.overridePolicies.map((o) => o.name).join(', '), detail: '' });
  }
  const well = w.placements.filter((p) => p.health === 'HEALTHY');
  const unwell = w.placements.filter((p) => p.health !== 'HEALTHY');
  const shown = (steps === 0 && well.length >= foldedFrom ? unwell : [...unwell, ...well]).slice(0, (steps + 1) * atOnce);
  const hidden = w.placements.length - shown.length;
  shown.forEach((p, row) => {
    const id = `cluster/${p.clusterName}`;
    boxes.push({ id, column: 4, row, kind: 'cluster', title: p.clusterName, detail: p.message ?? (p.desired === null ? '' : `${p.ready ?? 0}/${p.desired}`), health: p.health });
    arrows.push([before, id]);
    const pods = podsOf(p);
    if (pods !== '') {
      boxes.push({ id: `pods/${p.clusterName}`, column: 5, row, kind: 'pods', title: pods, detail: p.clusterName, health: p.health });
      arrows.push([id, `pods/${p.clusterName}`]);
    }
  });
  if (hidden > 0) {
    const healthy = hidden <= well.length;
    boxes.push({ id: 'folded', column: 4, row: shown.length, kind: 'folded', title: '', detail: '', count: hidden, ...(healthy && { health: 'HEALTHY' as const }) });
    arrows.push([before, 'folded']);
  }
  return { boxes, arrows };
}
