import type { Client, CombinedError } from 'urql';
import { parseDocument, stringify } from 'yaml';

import type { ResultOf, VariablesOf } from '../api/gql.ts';
import type { Key } from './kinds.ts';
import {
  CreateClusterOverride, CreateClusterPropagation, CreateOverride, CreatePropagation, DeleteClusterOverride, DeleteClusterPropagation, DeleteOverride, DeletePropagation, OverridePreview, PropagationPreview,
  UpdateClusterOverride, UpdateClusterPropagation, UpdateOverride, UpdatePropagation,
} from './previews.ts';
import { inputOf, type Json } from './spec.ts';

type PropagationSpec = NonNullable<VariablesOf<typeof UpdatePropagation>['input']['spec']>;
type OverrideSpec = NonNullable<VariablesOf<typeof UpdateOverride>['input']['spec']>;

export type PropagationOutcome = NonNullable<NonNullable<ResultOf<typeof PropagationPreview>['instance']>['policyPreview']>;
export type OverrideOutcome = NonNullable<NonNullable<ResultOf<typeof OverridePreview>['instance']>['overridePreview']>;

/** Outcome is what a change would do. */
export type Outcome = { is: 'propagation'; of: PropagationOutcome } | { is: 'override'; of: OverrideOutcome } | { is: 'refused'; error: CombinedError | undefined };

/** write is the spec as a person edits it: what it selects and where that goes first. */
export function write(spec: Json): string {
  const first = ['resourceSelectors', 'placement', 'overrideRules'];
  const place = (key: string): number => (first.includes(key) ? first.indexOf(key) : first.length);
  const sorted = typeof spec === 'object' && spec !== null && !Array.isArray(spec) ? Object.fromEntries(Object.entries(spec).sort(([a], [b]) => place(a) - place(b))) : spec;
  return stringify(sorted, { lineWidth: 120 });
}

/** read is the spec that a person wrote; an error's text where it is no YAML, or none of a spec. */
export function read(text: string): { spec: Json } | { error: string } {
  const document = parseDocument(text);
  const error = document.errors[0];
  if (error) return { error: error.message.split('\n')[0] ?? error.message };
  const spec = document.toJS() as Json;
  return typeof spec === 'object' && spec !== null && !Array.isArray(spec) ? { spec } : { error: 'YAML: a spec has fields' };
}

/** Change is what is done to a policy: all but a deletion have a spec. */
export type Change = { change: 'CREATE' | 'UPDATE'; spec: Json } | { change: 'DELETE' };

/** preview asks what a change would do. What the form of a spec is wrong about is refused by the server, out of its schema. */
export async function preview(client: Client, key: Key, what: Change): Promise<Outcome> {
  const of = { change: what.change, name: key.name, ...(key.namespace === null ? {} : { namespace: key.namespace }) };
  const spec = what.change === 'DELETE' ? undefined : inputOf(what.spec);
  if (key.kind === 'PROPAGATION_POLICY' || key.kind === 'CLUSTER_PROPAGATION_POLICY') {
    const { data, error } = await client.query(PropagationPreview, { instance: key.instance, input: { ...of, ...(spec === undefined ? {} : { spec: spec as PropagationSpec }) } }).toPromise();
    const found = data?.instance?.policyPreview;
    return found ? { is: 'propagation', of: found } : { is: 'refused', error };
  }
  const { data, error } = await client.query(OverridePreview, { instance: key.instance, input: { ...of, ...(spec === undefined ? {} : { spec: spec as OverrideSpec }) } }).toPromise();
  const found = data?.instance?.overridePreview;
  return found ? { is: 'override', of: found } : { is: 'refused', error };
}

/** Done is what came of a change that was asked for. */
export interface Done {
  error: CombinedError | undefined;
  /** resourceVersion is that of the changed policy; undefined where it was not changed. */
  resourceVersion: string | undefined;
  warnings: string[];
}

/** apply changes the policy, if it would still do what was previewed. */
export async function apply(client: Client, key: Key, resourceVersion: string, spec: Json, expect: string): Promise<Done> {
  const input = inputOf(spec);
  const { instance, name } = key;
  const namespace = key.namespace ?? '';
  type Payload = { warnings: readonly { message: string }[] } | null | undefined;
  const done = (error: CombinedError | undefined, payload: Payload, policy: { resourceVersion: string } | null | undefined): Done => ({
    error,
    resourceVersion: policy?.resourceVersion,
    warnings: (payload?.warnings ?? []).map((w) => w.message),
  });
  switch (key.kind) {
    case 'PROPAGATION_POLICY': {
      const { data, error } = await client.mutation(UpdatePropagation, { input: { instance, namespace, name, resourceVersion, expect, spec: input as PropagationSpec } }).toPromise();
      return done(error, data?.updatePropagationPolicy, data?.updatePropagationPolicy?.propagationPolicy);
    }
    case 'CLUSTER_PROPAGATION_POLICY': {
      const { data, error } = await client.mutation(UpdateClusterPropagation, { input: { instance, name, resourceVersion, expect, spec: input as PropagationSpec } }).toPromise();
      return done(error, data?.updateClusterPropagationPolicy, data?.updateClusterPropagationPolicy?.clusterPropagationPolicy);
    }
    case 'OVERRIDE_POLICY': {
      const { data, error } = await client.mutation(UpdateOverride, { input: { instance, namespace, name, resourceVersion, expect, spec: input as OverrideSpec } }).toPromise();
      return done(error, data?.updateOverridePolicy, data?.updateOverridePolicy?.overridePolicy);
    }
    case 'CLUSTER_OVERRIDE_POLICY': {
      const { data, error } = await client.mutation(UpdateClusterOverride, { input: { instance, name, resourceVersion, expect, spec: input as OverrideSpec } }).toPromise();
      return done(error, data?.updateClusterOverridePolicy, data?.updateClusterOverridePolicy?.clusterOverridePolicy);
    }
  }
}

/** create creates the policy, if it would still do what was previewed; it returns what went wrong. */
export async function create(client: Client, key: Key, spec: Json, expect: string): Promise<CombinedError | undefined> {
  const of = { instance: key.instance, name: key.name, expect };
  const namespace = key.namespace ?? '';
  const input = inputOf(spec);
  switch (key.kind) {
    case 'PROPAGATION_POLICY':
      return (await client.mutation(CreatePropagation, { input: { ...of, namespace, spec: input as PropagationSpec } }).toPromise()).error;
    case 'CLUSTER_PROPAGATION_POLICY':
      return (await client.mutation(CreateClusterPropagation, { input: { ...of, spec: input as PropagationSpec } }).toPromise()).error;
    case 'OVERRIDE_POLICY':
      return (await client.mutation(CreateOverride, { input: { ...of, namespace, spec: input as OverrideSpec } }).toPromise()).error;
    case 'CLUSTER_OVERRIDE_POLICY':
      return (await client.mutation(CreateClusterOverride, { input: { ...of, spec: input as OverrideSpec } }).toPromise()).error;
  }
}

/** remove deletes the policy, if that would still do what was previewed; it returns what went wrong. */
export async function remove(client: Client, key: Key, expect: string): Promise<CombinedError | undefined> {
  const of = { instance: key.instance, name: key.name, expect };
  const namespace = key.namespace ?? '';
  switch (key.kind) {
    case 'PROPAGATION_POLICY':
      return (await client.mutation(DeletePropagation, { input: { ...of, namespace, allowInUse: true } }).toPromise()).error;
    case 'CLUSTER_PROPAGATION_POLICY':
      return (await client.mutation(DeleteClusterPropagation, { input: { ...of, allowInUse: true } }).toPromise()).error;
    case 'OVERRIDE_POLICY':
      return (await client.mutation(DeleteOverride, { input: { ...of, namespace, allowInUse: true } }).toPromise()).error;
    case 'CLUSTER_OVERRIDE_POLICY':
      return (await client.mutation(DeleteClusterOverride, { input: { ...of, allowInUse: true } }).toPromise()).error;
  }
}
