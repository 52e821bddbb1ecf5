// What the form of an override policy's spec shows of YAML, and writes into it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runnerImport } from 'vite';
import { parse } from 'yaml';

const load = async (name) => (await runnerImport(new URL(`../../src/policies/${name}.ts`, import.meta.url).pathname)).module;
const { readOverrideForm, changes, beginnings, pairsOf, valuesOf, jsonOf, writtenOf } = await load('overrideForm');
const { edit } = await load('form');

const spec = `# mine
resourceSelectors:
  - apiVersion: apps/v1
    kind: Deployment
    namespace: shop
    labelSelector: {matchLabels: {app: web}}
overrideRules:
  - targetCluster:
      clusterNames: [m1] # the first
      exclude: [m3]
    overriders:
      imageOverrider:
        - predicate: {path: /spec/template/spec/containers/0/image}
          component: Tag
          operator: replace
          value: "1.10"
      argsOverrider:
        - {containerName: web, operator: add, value: [--verbose, "--a=b,c"]}
      labelsOverrider:
        - {operator: add, value: {team: a}}
      fieldOverrider:
        - {fieldPath: /data/config, yaml: [{subPath: /port, operator: replace, value: 8080}]}
      plaintext:
        - {path: /spec/paused, operator: replace, value: true}
  - overriders: {}
`;

test('a spec is shown', () => {
  const form = readOverrideForm(parse(spec));
  assert.deepEqual(form.selectors, [{ apiVersion: 'apps/v1', kind: 'Deployment', name: '' }]);
  assert.deepEqual(form.rules.map((rule) => [rule.clusters, rule.elsewhere]), [[['m1'], true], [[], false]]);
  assert.deepEqual(form.rules[0].changes.argsOverrider, [{ containerName: 'web', operator: 'add', value: ['--verbose', '--a=b,c'] }]);
  assert.deepEqual(changes.map((kind) => form.rules[0].changes[kind].length), [1, 0, 1, 1, 0, 1]);
  assert.deepEqual(form.more.sort(), ['exclude', 'fieldOverrider', 'predicate']);
});

test('what Karmada replaced is named, and not shown', () => {
  assert.deepEqual(readOverrideForm({ targetCluster: {}, overriders: { plaintext: [] } }), { selectors: [], rules: [], more: ['targetCluster', 'overriders'] });
});

for (const of of [null, [], 'x', { overrideRules: 'x' }, { overrideRules: [null, 1, { overriders: [] }, { overriders: { plaintext: 'x', imageOverrider: [null] } }] }]) {
  test(`${JSON.stringify(of)} is a form without content`, () => {
    for (const rule of readOverrideForm(of).rules) assert.ok(changes.every((kind) => rule.changes[kind].every((item) => Object.keys(item).length === 0)));
  });
}

const image = ['overrideRules', 0, 'overriders', 'imageOverrider', 0];
const edits = [
  ['an image', [[...image, 'value'], '1.11'], (s) => { s.overrideRules[0].overriders.imageOverrider[0].value = '1.11'; }],
  ['a cluster', [['overrideRules', 0, 'targetCluster', 'clusterNames'], ['m2']], (s) => { s.overrideRules[0].targetCluster.clusterNames = ['m2']; }],
  ['labels', [['overrideRules', 0, 'overriders', 'labelsOverrider', 0, 'value'], valuesOf(['team=b', 'tier'])], (s) => { s.overrideRules[0].overriders.labelsOverrider[0].value = { team: 'b', tier: '' }; }],
  ['a value', [['overrideRules', 0, 'overriders', 'plaintext', 0, 'value'], jsonOf('{"a":[1]}')], (s) => { s.overrideRules[0].overriders.plaintext[0].value = { a: [1] }; }],
  ['a change that is removed', [['overrideRules', 0, 'overriders', 'argsOverrider'], undefined], (s) => { delete s.overrideRules[0].overriders.argsOverrider; }],
  ...changes.map((kind) => [`a first ${kind}`, [['overrideRules', 1, 'overriders', kind, 0], beginnings[kind]], (s) => { s.overrideRules[1].overriders[kind] = [beginnings[kind]]; }]),
];
for (const [what, change, want] of edits) {
  test(`${what} changes nothing else`, () => {
    const written = edit(spec, change);
    const expected = parse(spec);
    want(expected);
    assert.deepEqual(parse(written), expected);
    assert.match(written, /# mine\n/);
    assert.match(written, /"1\.1[01]?"|1\.11/);
  });
}

test('labels are read as they were written', () => {
  for (const value of [{}, { a: 'b', 'x/y': 'c=d,e', empty: '' }]) assert.deepEqual(valuesOf(pairsOf(value)), value);
  assert.deepEqual(pairsOf({ a: 1 }), ['a=1']);
  assert.deepEqual(pairsOf('x'), []);
});

test('values are read as they were written', () => {
  for (const value of [undefined, null, true, 1.5, '', 'x', 'true', '1', '"x"', '{', { a: [1, 'b'] }, []]) assert.deepEqual(jsonOf(writtenOf(value)), value, JSON.stringify(value));
  assert.equal(jsonOf('1.'), '1.', 'what is no JSON yet is a text');
});
