// What the form of a policy's spec shows of YAML, and writes into it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runnerImport } from 'vite';
import { parse } from 'yaml';

const { module } = await runnerImport(new URL('../../src/policies/form.ts', import.meta.url).pathname);
const { readForm, edit, schedulingOf } = module;

const weighted = {
  resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }],
  priority: 3,
  placement: {
    clusterAffinity: { clusterNames: ['m1', 'm2'], exclude: ['m3'] },
    replicaScheduling: {
      replicaSchedulingType: 'Divided',
      replicaDivisionPreference: 'Weighted',
      weightPreference: { staticWeightList: [{ targetCluster: { clusterNames: ['m1'] }, weight: 2 }, { targetCluster: { clusterNames: ['m2'] }, weight: 1 }] },
    },
  },
};

test('a spec is shown', () => {
  assert.deepEqual(readForm(weighted), {
    selectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }],
    clusters: ['m1', 'm2'],
    division: 'WEIGHTED',
    weights: { m1: 2, m2: 1 },
    more: ['priority', 'exclude'],
  });
});

for (const [what, spec] of [['nothing', {}], ['a null', null], ['a list', []], ['text where objects belong', { resourceSelectors: 'x', placement: 'y' }], ['items of other forms', { resourceSelectors: [null, 1] }]]) {
  test(`${what} is a form without content`, () => {
    const form = readForm(spec);
    assert.equal(form.division, 'DUPLICATED');
    assert.deepEqual(form.clusters, []);
    assert.ok(form.selectors.every((s) => s.kind === ''));
  });
}

for (const [division, weights] of [['DUPLICATED', {}], ['WEIGHTED', { m1: 5, m2: 1 }], ['AVAILABLE', {}], ['AGGREGATED', {}]]) {
  test(`${division} is read as it was written`, () => {
    const text = edit('placement: {}\n', [['placement', 'replicaScheduling'], schedulingOf(division, ['m1', 'm2'], weights)]);
    const form = readForm(parse(text));
    assert.equal(form.division, division);
    assert.deepEqual(form.weights, weights);
  });
}

test('comments, and what the form does not know, stay', () => {
  const text = edit('# mine\npriority: 3 # first\nplacement:\n  spreadConstraints: []\n', [['placement', 'clusterAffinity', 'clusterNames'], ['m1']], [['resourceSelectors', 0], { apiVersion: 'v1', kind: 'ConfigMap' }]);
  assert.match(text, /# mine/);
  assert.match(text, /# first/);
  assert.deepEqual(parse(text), { priority: 3, placement: { spreadConstraints: [], clusterAffinity: { clusterNames: ['m1'] } }, resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }] });
});

test('removing what is not there changes nothing', () => {
  assert.equal(edit('priority: 3\n', [['placement', 'clusterAffinity', 'clusterNames'], undefined]), 'priority: 3\n');
});

test('what is not an object becomes one, and its neighbours stay', () => {
  assert.deepEqual(parse(edit('resourceSelectors: [null, {kind: Secret}]\n', [['resourceSelectors', 0, 'kind'], 'Job'])), { resourceSelectors: [{ kind: 'Job' }, { kind: 'Secret' }] });
});

test('a change of what an alias stands for is none of its other places', () => {
  const aliased = 'a: &x {names: [m1], exclude: [m2]}\nb: *x\nc: *x\n';
  const names = (...of) => ({ names: of, exclude: ['m2'] });
  assert.deepEqual(parse(edit(aliased, [['b', 'names'], ['m3']])), { a: names('m1'), b: names('m3'), c: names('m1') });
  assert.deepEqual(parse(edit(aliased, [['a', 'names'], ['m3']])), { a: names('m3'), b: names('m1'), c: names('m1') });
  assert.deepEqual(parse(edit(aliased, [['b', 'names'], undefined])), { a: names('m1'), b: { exclude: ['m2'] }, c: names('m1') });
});

test('what begins empty is written a line each', () => {
  assert.equal(edit('rules: [{overriders: {}}]\nplacement: {}\n', [['placement', 'clusterNames'], ['m1']]), 'rules: [ { overriders: {} } ]\nplacement:\n  clusterNames:\n    - m1\n');
});

test('a field without a value gets one', () => {
  assert.deepEqual(parse(edit('placement:\n', [['placement', 'clusterAffinity', 'clusterNames'], ['m1']])), { placement: { clusterAffinity: { clusterNames: ['m1'] } } });
  assert.deepEqual(parse(edit('', [['priority'], 1])), { priority: 1 });
});
