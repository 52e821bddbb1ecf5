import { constant } from '../shared/constant.ts';

/** Json is what a manifest consists of. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** constants are the fields that are enums in the schema. */
const constants = new Set([
  'operator', 'effect', 'replicaSchedulingType', 'replicaDivisionPreference', 'dynamicWeight', 'spreadByField', 'preemption', 'conflictResolution', 'activationPreference',
  'component', 'purgeMode', 'priorityClassSource',
]);
/** free are the fields whose value is anything, unless it belongs to a list of labels. */
const free = new Set(['value']);

const isObject = (value: Json | undefined): value is { [key: string]: Json } => typeof value === 'object' && value !== null && !Array.isArray(value);
const pairs = (labels: { [key: string]: Json }): Json => Object.entries(labels).map(([key, value]) => ({ key, value: String(value) }));

/**
 * inputOf writes the spec of a manifest as the API's mutations take it: enums in capitals, and maps of labels as lists. What is
 * neither stays, and the server refuses what it does not know.
 */
export function inputOf(value: Json, field = '', list = ''): Json {
  if (field === 'matchLabels' && isObject(value)) return pairs(value);
  if (field === 'value' && (list === 'labelsOverrider' || list === 'annotationsOverrider') && isObject(value)) return pairs(value);
  if (free.has(field)) return value;
  if (Array.isArray(value)) return value.map((item) => inputOf(item, '', field));
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, inputOf(of, key, list)]));
  return typeof value === 'string' && constants.has(field) ? constant(value) : value;
}

/** specOf is the spec of a manifest; empty where it has none. */
export function specOf(manifest: unknown): Json {
  return isObject(manifest as Json) ? ((manifest as { [key: string]: Json })['spec'] ?? {}) : {};
}
