import type { useT } from '../app/i18n.ts';

type T = ReturnType<typeof useT>;

interface LabelSelector {
  matchLabels: readonly { key: string; value: string }[];
  matchExpressions: readonly { key: string; operator: string; values: readonly string[] }[];
}

export interface Selector {
  kind: string;
  namespace: string;
  name: string;
  labelSelector: LabelSelector | null;
}

export interface Affinity {
  clusterNames: readonly string[];
  exclude: readonly string[];
  labelSelector: LabelSelector | null;
  fieldSelector: { matchExpressions: readonly { key: string; operator: string; values: readonly string[] }[] } | null;
}

const expressions = (list: LabelSelector['matchExpressions']): string[] =>
  list.map(({ key, operator, values }) => [key, operator.toLowerCase().replaceAll('_', ' '), values.length > 0 ? `(${values.join(', ')})` : ''].filter(Boolean).join(' '));

function labels(of: LabelSelector | null): string[] {
  return of === null ? [] : [...of.matchLabels.map(({ key, value }) => `${key}=${value}`), ...expressions(of.matchExpressions)];
}

/** selectorText writes which objects a selector selects. */
export function selectorText({ kind, namespace, name, labelSelector }: Selector, t: T): string {
  const which = name !== '' ? (namespace === '' ? name : `${namespace}/${name}`) : [namespace && `${namespace}/*`, ...labels(labelSelector)].filter(Boolean).join(', ');
  return `${kind} ${which || t('policies.every')}`;
}

/** affinityText writes which clusters an affinity matches; none matches all. */
export function affinityText(of: Affinity | null, t: T): string {
  if (of === null) return t('policies.allClusters');
  const parts = [of.clusterNames.join(', '), ...labels(of.labelSelector), ...expressions(of.fieldSelector?.matchExpressions ?? [])].filter(Boolean);
  const text = parts.length > 0 ? parts.join(' · ') : t('policies.allClusters');
  return of.exclude.length > 0 ? `${text} · ${t('policies.except', { clusters: of.exclude.join(', ') })}` : text;
}
