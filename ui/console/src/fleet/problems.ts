import type { ResultOf } from '../api/gql.ts';
import type { HealthValue } from '../shared/Health.tsx';
import type { FleetQuery } from './queries.ts';

type Fleet = ResultOf<typeof FleetQuery>;

/** Trouble is something that needs attention. */
export type Trouble =
  | { is: 'instance'; name: string; state: Fleet['instances']['nodes'][number]['state']; message: string }
  | { is: 'cluster'; name: string; instance: string | null; message: string }
  | { is: 'expiring'; name: string; at: string }
  | { is: 'workload'; instance: string; kind: Fleet['workloads']['nodes'][number]['kind']; namespace: string; name: string; health: HealthValue; message: string };

/** soon is how long before their end credentials are told, in milliseconds. */
const soon = 14 * 86_400_000;

/** troubles lists what needs attention, the widest first: instances, clusters, credentials, workloads. */
export function troubles(data: Fleet, now: number): Trouble[] {
  const found: Trouble[] = [];
  for (const instance of data.instances.nodes) {
    if (instance.state === 'RUNNING') continue;
    const why = instance.conditions.find((c) => c.type === 'Ready');
    found.push({ is: 'instance', name: instance.name, state: instance.state, message: why?.message ?? '' });
  }
  for (const cluster of data.clusters.nodes) {
    if (cluster.hidden) continue;
    const ready = cluster.conditions.find((c) => c.type === 'Ready');
    if (ready && ready.status !== 'True') found.push({ is: 'cluster', name: cluster.name, instance: cluster.instance?.name ?? null, message: ready.message });
    const at = cluster.credentialsExpireTime;
    if (at !== null && Date.parse(at) - now < soon) found.push({ is: 'expiring', name: cluster.name, at });
  }
  for (const w of data.workloads.nodes) {
    found.push({ is: 'workload', instance: w.instance.name, kind: w.kind, namespace: w.namespace, name: w.name, health: w.health, message: w.healthMessage ?? '' });
  }
  return found;
}
