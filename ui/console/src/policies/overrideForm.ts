import { fields, list, readSelectors, texts, type Fields, type Selector } from './form.ts';
import type { Json } from './spec.ts';

/** changes are the fields of overriders that the form knows, in the order in which Karmada applies them. */
export const changes = ['imageOverrider', 'commandOverrider', 'argsOverrider', 'labelsOverrider', 'annotationsOverrider', 'plaintext'] as const;
export type Change = (typeof changes)[number];

/** Rule is what the form shows of the changes for some clusters. */
export interface Rule {
  clusters: string[];
  /** elsewhere reports whether the rule chooses clusters in another way than by name, too. */
  elsewhere: boolean;
  changes: Record<Change, Fields[]>;
}

/** OverrideForm is what the form shows of a spec of an override policy. */
export interface OverrideForm {
  selectors: Selector[];
  rules: Rule[];
  /** more names what the spec has and the form cannot change, and keeps as it is. */
  more: string[];
}

/** readOverrideForm reads what the form shows out of a spec of an override policy. */
export function readOverrideForm(spec: Json): OverrideForm {
  const { resourceSelectors, overrideRules, ...rest } = fields(spec);
  const more = new Set(Object.keys(rest));
  const rules = list(overrideRules).map((rule): Rule => {
    const { targetCluster, overriders, ...others } = fields(rule);
    const { clusterNames, ...affinity } = fields(targetCluster);
    const of = fields(overriders);
    const read = changes.map((change): [Change, Fields[]] => [change, list(of[change]).map(fields)]);
    for (const key of [...Object.keys(others), ...Object.keys(affinity), ...Object.keys(of).filter((key) => !changes.some((change) => change === key))]) more.add(key);
    if (list(of['imageOverrider']).some((image) => 'predicate' in fields(image))) more.add('predicate');
    return { clusters: texts(clusterNames), elsewhere: Object.keys(affinity).length > 0, changes: Object.fromEntries(read) as Rule['changes'] };
  });
  return { selectors: readSelectors(resourceSelectors), rules, more: [...more] };
}

/** beginnings are what each change begins with. */
export const beginnings: Readonly<Record<Change, Json>> = {
  imageOverrider: { component: 'Tag', operator: 'replace', value: '' },
  commandOverrider: { containerName: '', operator: 'add', value: [] },
  argsOverrider: { containerName: '', operator: 'add', value: [] },
  labelsOverrider: { operator: 'add', value: {} },
  annotationsOverrider: { operator: 'add', value: {} },
  plaintext: { path: '/', operator: 'replace', value: '' },
};

/** pairsOf are labels as a person writes them; valuesOf is the way back. */
export function pairsOf(value: Json | undefined): string[] {
  return Object.entries(fields(value)).map(([key, of]) => (of === '' ? key : `${key}=${typeof of === 'string' ? of : JSON.stringify(of)}`));
}

export function valuesOf(pairs: readonly string[]): Json {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** jsonOf is the value that a person wrote: JSON, or else a text as it is. Nothing is no value. */
export function jsonOf(written: string): Json | undefined {
  if (written === '') return undefined;
  try {
    return JSON.parse(written) as Json;
  } catch {
    return written;
  }
}

/** writtenOf is how a person writes a value. */
export function writtenOf(value: Json | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' && jsonOf(value) === value ? value : JSON.stringify(value);
}
