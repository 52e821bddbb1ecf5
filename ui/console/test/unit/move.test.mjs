// The move that a policy records.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runnerImport } from 'vite';

const { module } = await runnerImport(new URL('../../src/workload/move.ts', import.meta.url).pathname);
const { underWay } = module;

const from = { key: 'kairship.io/move-from', value: 'm2,m3' };
const to = { key: 'kairship.io/move-to', value: 'm1' };
for (const [why, annotations, want] of [
  ['both are recorded', [{ key: 'a', value: 'b' }, to, from], { from: ['m2', 'm3'], to: ['m1'] }],
  ['nothing is', [], undefined],
  ['half of it is', [from], undefined],
  ['one is empty', [from, { ...to, value: '' }], undefined],
]) {
  test(why, () => assert.deepEqual(underWay(annotations), want));
}
