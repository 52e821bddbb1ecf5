/** kinds are those of policies, as addresses and the schema have them, each with the field of an instance that lists it. */
export const kinds = ['PROPAGATION_POLICY', 'CLUSTER_PROPAGATION_POLICY', 'OVERRIDE_POLICY', 'CLUSTER_OVERRIDE_POLICY'] as const;
export type PolicyKind = (typeof kinds)[number];

/** noNamespace stands in addresses for the namespace of a policy that has none. No namespace can be called so. */
export const noNamespace = '-';

export function isKind(value: string): value is PolicyKind {
  return kinds.some((kind) => kind === value);
}

/** propagates reports whether policies of a kind say where objects go, and not how they differ there. */
export function propagates(kind: PolicyKind): boolean {
  return kind === 'PROPAGATION_POLICY' || kind === 'CLUSTER_PROPAGATION_POLICY';
}

/** isNamespaced reports whether policies of a kind are in a namespace. */
export function isNamespaced(kind: PolicyKind): boolean {
  return kind === 'PROPAGATION_POLICY' || kind === 'OVERRIDE_POLICY';
}

/** Key names one policy. */
export interface Key {
  instance: string;
  kind: PolicyKind;
  /** namespace is null for a policy of the whole instance. */
  namespace: string | null;
  name: string;
}

/** isComplete reports whether a key names a policy. Without its namespace, one of a namespace would be asked about as another kind. */
export function isComplete(key: Key): boolean {
  return key.name !== '' && (!isNamespaced(key.kind) || key.namespace !== null);
}
