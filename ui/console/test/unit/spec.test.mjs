// How the spec of a manifest becomes an input of the API, case by case.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runnerImport } from 'vite';

const { module } = await runnerImport(new URL('../../src/policies/spec.ts', import.meta.url).pathname);
const { inputOf, specOf } = module;

const cases = [
  ['enums', { conflictResolution: 'Abort', preemption: 'Never' }, { conflictResolution: 'ABORT', preemption: 'NEVER' }, 'the schema has capitals'],
  ['an enum of several words', { effect: 'PreferNoSchedule', dynamicWeight: 'AvailableReplicas' }, { effect: 'PREFER_NO_SCHEDULE', dynamicWeight: 'AVAILABLE_REPLICAS' }, 'words are joined by _'],
  ['labels of a selector', { labelSelector: { matchLabels: { app: 'web' } } }, { labelSelector: { matchLabels: [{ key: 'app', value: 'web' }] } }, 'maps are lists of pairs'],
  ['a label whose key is a field', { matchLabels: { operator: 'In' } }, { matchLabels: [{ key: 'operator', value: 'In' }] }, 'what a person wrote is no enum'],
  ['expressions', { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['In'] }] }, { matchExpressions: [{ key: 'a', operator: 'NOT_IN', values: ['In'] }] }, 'values are texts'],
  ['labels of an override', { labelsOverrider: [{ operator: 'add', value: { team: 'a' } }] }, { labelsOverrider: [{ operator: 'ADD', value: [{ key: 'team', value: 'a' }] }] }, 'its value is labels'],
  ['a value of any form', { plaintext: [{ path: '/spec', operator: 'replace', value: { operator: 'In', matchLabels: { a: 'b' } } }] },
    { plaintext: [{ path: '/spec', operator: 'REPLACE', value: { operator: 'In', matchLabels: { a: 'b' } } }] }, 'it is set as it is'],
  ['a field that does not exist', { nope: 1 }, { nope: 1 }, 'the server refuses it, by its name'],
];
for (const [name, spec, want, why] of cases) {
  test(name, () => assert.deepEqual(inputOf(spec), want, why));
}

test('the spec of a manifest', () => {
  assert.deepEqual(specOf({ kind: 'PropagationPolicy', spec: { priority: 1 } }), { priority: 1 });
  assert.deepEqual(specOf({}), {}, 'a manifest may have none');
  assert.deepEqual(specOf(null), {}, 'there may be no manifest');
});
