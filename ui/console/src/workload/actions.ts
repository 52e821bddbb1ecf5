import type { Client, CombinedError } from 'urql';

import type { Workload } from './layout.ts';
import type { Key } from './key.ts';
import { Delete, Pause, Restart, Resume, RollBack, Scale, SetImage } from './mutations.ts';

/** Action is something that a person does to a workload. */
export type Action = 'scale' | 'restart' | 'pause' | 'resume' | 'image' | 'rollback' | 'delete';

/** Choice is what a person chose for it. */
export interface Choice {
  replicas: number;
  container: string;
  image: string;
  /** revision is the one to go back to, and the cluster that keeps it. */
  revision?: { cluster: string; toRevision: number };
}

/** resources are the kinds as addresses have them, for deletion. */
const resources: Partial<Record<Workload['kind'], { group: string; resource: string }>> = {
  DEPLOYMENT: { group: 'apps', resource: 'deployments' },
  STATEFUL_SET: { group: 'apps', resource: 'statefulsets' },
  DAEMON_SET: { group: 'apps', resource: 'daemonsets' },
  JOB: { group: 'batch', resource: 'jobs' },
  CRON_JOB: { group: 'batch', resource: 'cronjobs' },
};

/** actionsOf are those that a kind of workload has in its menu. */
export function actionsOf(w: Workload): Action[] {
  const all: Action[] = [];
  if (w.kind === 'DEPLOYMENT' || w.kind === 'STATEFUL_SET') all.push('scale');
  if (w.kind === 'DEPLOYMENT' || w.kind === 'STATEFUL_SET' || w.kind === 'DAEMON_SET') all.push('restart', 'image');
  if (w.kind !== 'CUSTOM') all.push(w.suspended ? 'resume' : 'pause', 'delete');
  return all;
}

/** run does an action, or with dryRun has the instance try it; it returns what went wrong. */
export async function run(client: Client, action: Action, key: Key, w: Workload, choice: Choice, dryRun: boolean): Promise<CombinedError | undefined> {
  // An action that replaces nothing as a whole needs no version: it is right whatever else changed.
  const input = { ...key, dryRun };
  switch (action) {
    case 'scale':
      return (await client.mutation(Scale, { input: { ...input, replicas: choice.replicas } }).toPromise()).error;
    case 'restart':
      return (await client.mutation(Restart, { input }).toPromise()).error;
    case 'pause':
      return (await client.mutation(Pause, { input }).toPromise()).error;
    case 'resume':
      return (await client.mutation(Resume, { input }).toPromise()).error;
    case 'image':
      return (await client.mutation(SetImage, { input: { ...input, images: [{ container: choice.container, image: choice.image }] } }).toPromise()).error;
    case 'rollback':
      return (await client.mutation(RollBack, { input: { ...input, ...choice.revision } }).toPromise()).error;
    case 'delete': {
      const of = resources[w.kind];
      if (of === undefined) throw new Error(`a ${w.kind} has no address here`);
      return (
        await client
          .mutation(Delete, { input: { instance: key.instance, ...of, version: 'v1', namespace: key.namespace, name: key.name, resourceVersion: w.resourceVersion, dryRun } })
          .toPromise()
      ).error;
    }
  }
}
