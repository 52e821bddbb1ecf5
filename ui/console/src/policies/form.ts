import { isCollection, parseDocument, visit } from 'yaml';

import type { Json } from './spec.ts';

/** Selector is one line of what a policy selects. */
export interface Selector {
  apiVersion: string;
  kind: string;
  name: string;
}

/** divisions are the ways in which replicas are spread over clusters that the form knows. */
export const divisions = ['DUPLICATED', 'WEIGHTED', 'AVAILABLE', 'AGGREGATED'] as const;
export type Division = (typeof divisions)[number];

/** Form is what the form shows of a spec. */
export interface Form {
  selectors: Selector[];
  clusters: string[];
  division: Division;
  weights: Record<string, number>;
  /** more names what the spec has and the form cannot change, and keeps as it is. */
  more: string[];
}

/** Fields are those of an object; the functions after it take what is of another form for nothing. */
export type Fields = { [key: string]: Json };
export const fields = (value: Json | undefined): Fields => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {});
export const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
export const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
export const texts = (value: Json | undefined): string[] => list(value).filter((v) => typeof v !== 'object').map(String);

/** readForm reads what the form shows out of a spec of a propagation policy. */
export function readForm(spec: Json): Form {
  const { resourceSelectors, placement, ...rest } = fields(spec);
  const { clusterAffinity, replicaScheduling, ...places } = fields(placement);
  const { clusterNames, ...affinity } = fields(clusterAffinity);
  const scheduling = fields(replicaScheduling);
  const preference = fields(scheduling['weightPreference']);
  const weights: Record<string, number> = {};
  for (const item of list(preference['staticWeightList'])) {
    for (const name of texts(fields(fields(item)['targetCluster'])['clusterNames'])) weights[name] = Number(fields(item)['weight'] ?? 1);
  }
  return {
    selectors: readSelectors(resourceSelectors),
    clusters: texts(clusterNames),
    division: divisionOf(scheduling, preference),
    weights,
    more: [...Object.keys(rest), ...Object.keys(places), ...Object.keys(affinity)],
  };
}

/** readSelectors reads what policies select. */
export function readSelectors(of: Json | undefined): Selector[] {
  return list(of).map((s) => ({ apiVersion: text(fields(s)['apiVersion']), kind: text(fields(s)['kind']), name: text(fields(s)['name']) }));
}

function divisionOf(scheduling: Fields, preference: Fields): Division {
  if (scheduling['replicaSchedulingType'] !== 'Divided') return 'DUPLICATED';
  if (scheduling['replicaDivisionPreference'] === 'Aggregated') return 'AGGREGATED';
  return preference['dynamicWeight'] ? 'AVAILABLE' : 'WEIGHTED';
}

type Path = readonly (string | number)[];

/** edit writes values into YAML in the place of those that are there; undefined removes one. Comments and all else stay. */
export function edit(yaml: string, ...changes: readonly (readonly [path: Path, value: Json | undefined])[]): string {
  const document = parseDocument(yaml);
  // What an alias stands for is written out, so that a change of one place is none of another.
  visit(document, { Alias: (_key, alias) => document.createNode(alias.toJS(document)) });
  for (const [path, value] of changes) {
    if (value === undefined) {
      if (document.hasIn(path)) document.deleteIn(path);
      continue;
    }
    for (let depth = 1; depth < path.length; depth += 1) {
      const above = document.getIn(path.slice(0, depth), true);
      if (!isCollection(above)) document.setIn(path.slice(0, depth), document.createNode(typeof path[depth] === 'number' ? [] : {})); // As `placement:` with nothing behind it.
      else if (above.items.length === 0) above.flow = false;
    }
    document.setIn(path, document.createNode(value));
  }
  return document.toString({ lineWidth: 120 });
}

/** schedulingOf is the part of a spec that divides replicas; undefined where every cluster gets all of them. */
export function schedulingOf(division: Division, clusters: readonly string[], weights: Readonly<Record<string, number>>): Json | undefined {
  switch (division) {
    case 'DUPLICATED':
      return undefined;
    case 'AGGREGATED':
      return { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' };
    case 'AVAILABLE':
      return { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted', weightPreference: { dynamicWeight: 'AvailableReplicas' } };
    case 'WEIGHTED':
      return {
        replicaSchedulingType: 'Divided',
        replicaDivisionPreference: 'Weighted',
        weightPreference: { staticWeightList: clusters.map((name) => ({ targetCluster: { clusterNames: [name] }, weight: weights[name] ?? 1 })) },
      };
  }
}
