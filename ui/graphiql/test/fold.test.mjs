// What the events of a subscription make, case by case.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runnerImport } from 'vite';

const { module } = await runnerImport(new URL('../src/live/fold.ts', import.meta.url).pathname);
const { cellsOf, columnsOf, isWhole, KEPT, fail, nothing, push, reconnect } = module;

const at = new Date(0);
const fold = (...events) => events.reduce((state, event) => push(state, event, at), nothing);
const change = (type, id, instanceName = 'alpha', kind = 'Deployment') => ({ type, instanceName, kind, workload: { id, name: id } });
const mark = (type, instanceName = null, kind = null, message = null) => ({ type, instanceName, kind, message, workload: null });

const cases = [
  ['what there is', [change('ADDED', 'a'), change('ADDED', 'b')], { ids: ['a', 'b'], whole: false }, 'before SYNCED more may come'],
  ['all of it', [change('ADDED', 'a'), mark('SYNCED')], { ids: ['a'], whole: true }, 'SYNCED without an instance is about all'],
  ['one that is told twice', [change('ADDED', 'a'), change('MODIFIED', 'a')], { ids: ['a'] }, 'the id is the key'],
  ['one that goes', [change('ADDED', 'a'), change('DELETED', 'a')], { ids: [] }, 'DELETED takes it out'],
  ['a gap of one kind of an instance',
    [change('ADDED', 'a'), change('ADDED', 'b', 'beta'), change('ADDED', 'j', 'alpha', 'Job'), mark('SYNCED'), mark('GAP', 'alpha', 'Deployment')],
    { ids: ['b', 'j'], whole: false }, 'the rest is as it was, and the list lacks something'],
  ['the end of that gap',
    [mark('SYNCED'), mark('GAP', 'alpha', 'Deployment'), change('ADDED', 'a'), mark('SYNCED', 'alpha', 'Deployment')],
    { ids: ['a'], whole: true }, 'its own SYNCED ends it'],
  ['the end of another gap',
    [mark('SYNCED'), mark('GAP', 'alpha', 'Deployment'), mark('GAP', 'beta', 'Deployment'), mark('SYNCED', 'beta', 'Deployment')],
    { ids: [], whole: false }, 'one part is still being told'],
  ['a gap of everything', [change('ADDED', 'a'), change('ADDED', 'b', 'beta'), mark('GAP')], { ids: [] }, 'instanceName is null: forget all'],
  ['a gap of unknown extent', [change('ADDED', 'a'), { type: 'GAP' }], { ids: [], problem: /instanceName and kind/ }, 'without the fields nobody knows which part'],
  ['no ids', [{ type: 'ADDED', workload: { name: 'a' } }], { ids: [], problem: /id/ }, 'nothing tells objects apart'],
  ['an instance that does not answer',
    [change('ADDED', 'a'), change('ADDED', 'b', 'beta'), mark('INTERRUPTED', 'beta', 'Deployment', 'down')],
    { ids: ['a', 'b'], old: ['b'] }, 'its objects are as they were last'],
  ['one that answers again',
    [change('ADDED', 'b', 'beta'), mark('INTERRUPTED', 'beta', 'Deployment'), mark('RESTORED', 'beta', 'Deployment')],
    { ids: ['b'], old: [] }, 'the mark goes'],
  ['the progress of an operation', [{ state: 'RUNNING', steps: [] }, { state: 'SUCCEEDED', steps: [] }], { ids: [''], types: ['SUCCEEDED', 'RUNNING'], whole: true }, 'one thing that changes'],
];

for (const [name, events, want, why] of cases) {
  test(name, () => {
    const state = fold(...events);
    assert.deepEqual([...state.items.keys()], want.ids, why);
    if ('whole' in want) assert.equal(isWhole(state), want.whole, why);
    if (want.old) assert.deepEqual([...state.items].filter(([, { old }]) => old).map(([id]) => id), want.old, why);
    if (want.types) assert.deepEqual(state.entries.map(({ type }) => type), want.types, why);
    if (want.problem) assert.match(state.problem, want.problem, why);
    else assert.equal(state.problem, null, why);
    assert.equal(state.count, events.length);
  });
}

test('the log keeps the newest and counts all', () => {
  const state = fold(...Array.from({ length: KEPT + 7 }, (_, i) => change('ADDED', `${i}`)));
  assert.equal(state.entries.length, KEPT);
  assert.equal(state.entries[0].about, `alpha ${KEPT + 6}`);
  assert.equal(state.count, KEPT + 7);
  assert.equal(state.items.size, KEPT + 7, 'the list has all of them');
});

test('a connection that broke begins the list again', () => {
  const state = reconnect(fold(change('ADDED', 'a'), mark('SYNCED')), at);
  assert.equal(state.items.size, 0, 'what was deleted meanwhile is not told');
  assert.equal(isWhole(state), false);
});

test('errors are events', () => {
  const [entry] = fail(nothing, [{ message: 'the token expired' }], at).entries;
  assert.equal(entry.type, 'ERROR');
  assert.equal(entry.note, 'the token expired');
});

test('columns begin with what names an object and leave the id out', () => {
  const object = { id: 'x', health: 'HEALTHY', name: 'a', replicas: { ready: 1 }, images: ['i', 'j'], placements: [{ a: 1 }], policy: null };
  const cells = cellsOf({ object, instanceName: 'alpha', kind: null, old: false });
  assert.deepEqual(columnsOf([cells]), ['instanceName', 'name', 'health', 'replicas.ready', 'images', 'placements', 'policy']);
  assert.deepEqual(Object.values(cells), ['alpha', 'HEALTHY', 'a', '1', 'i, j', '1', '']);
  const named = cellsOf({ object: { ...object, instance: { name: 'beta' } }, instanceName: 'beta', kind: null, old: false });
  assert.equal(named.instanceName, undefined, 'the object says it itself');
});
