// What a change of many workloads sends, and which views a browser keeps.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runnerImport } from 'vite';

const load = async (path) => (await runnerImport(new URL(`../../src/workloads/${path}`, import.meta.url).pathname)).module;
const { inputOf } = await load('bulk.ts');
const { readViews, withView, writeViews } = await load('views.ts');

const chosen = { action: 'RESTART', replicas: 3, container: ' web ', image: ' app:2 ', labels: ['team=a', 'tier', 'old-', 'url=a=b'], maxFailedPercent: 10 };
const filter = { namespaces: ['shop'] };

for (const [action, more] of [
  ['RESTART', {}],
  ['DELETE', {}],
  ['SCALE', { replicas: 3 }],
  ['SET_IMAGE', { images: [{ container: 'web', image: 'app:2' }] }],
  ['LABEL', { labels: [{ key: 'team', value: 'a' }, { key: 'tier', value: '' }, { key: 'url', value: 'a=b' }], removeLabels: ['old'] }],
]) {
  test(`${action} sends no more than it takes`, () => assert.deepEqual(inputOf(filter, { ...chosen, action }), { filter, action, maxFailedPercent: 10, ...more }));
}

const storage = (text) => ({ text, getItem: () => text, setItem(_, value) { this.text = value; } });

test('views are read as they were written, and replaced by their name', () => {
  const place = storage(null);
  writeViews(withView(withView([], { name: 'b', search: { text: 'x' } }), { name: 'a', search: { health: ['DEGRADED'] } }), place);
  const read = readViews(storage(place.text));
  assert.deepEqual(read.map((v) => v.name), ['a', 'b']);
  assert.deepEqual(withView(read, { name: 'b', search: {} }).at(-1), { name: 'b', search: {} });
});

for (const text of ['no JSON', '{}', '[1, null, {"name": 1}, {"name": "x"}]']) {
  test(`${text} in the browser is no view`, () => assert.deepEqual(readViews(storage(text)), []));
}
