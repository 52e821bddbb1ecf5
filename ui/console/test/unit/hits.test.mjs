// Where what was found leads to, case by case.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runnerImport } from 'vite';

const { module } = await runnerImport(new URL('../../src/search/hits.ts', import.meta.url).pathname);
const { addressOf, different } = module;

const hit = (type, kind, name, more = {}) => ({ type, kind, name, namespace: null, clusterName: null, instance: { name: 'alpha' }, matchedBy: 'NAME', matchedText: name, ...more });
const list = (value) => encodeURIComponent(JSON.stringify([value]));

const cases = [
  ['an instance', hit('INSTANCE', 'Instance', 'alpha'), '/instances/alpha'],
  ['a workload', hit('WORKLOAD', 'StatefulSet', 'cart', { namespace: 'shop' }), '/instances/alpha/workloads/STATEFUL_SET/shop/cart'],
  ['a custom workload has no page: the list', hit('WORKLOAD', 'Rollout', 'web', { namespace: 'shop' }), `/workloads?instance=${list('alpha')}&namespace=${list('shop')}&text=web`],
  ['a policy of a namespace', hit('POLICY', 'OverridePolicy', 'image', { namespace: 'shop' }), '/instances/alpha/policies/OVERRIDE_POLICY/shop/image'],
  ['a policy of the instance', hit('POLICY', 'ClusterPropagationPolicy', 'agents'), '/instances/alpha/policies/CLUSTER_PROPAGATION_POLICY/-/agents'],
  ['a member', hit('MEMBER_CLUSTER', 'Cluster', 'm1'), '/instances/alpha/clusters/m1'],
  ['a free cluster: the list', hit('CLUSTER', 'Cluster', 'm9', { instance: null }), '/clusters'],
  ['a node: its cluster', hit('NODE', 'Node', 'n1', { clusterName: 'm1' }), '/instances/alpha/clusters/m1'],
  ['a pod: the workloads around it', hit('POD', 'Pod', 'web-1', { namespace: 'shop', clusterName: 'm1' }), `/workloads?instance=${list('alpha')}&namespace=${list('shop')}&cluster=${list('m1')}`],
  ['a namespace: its workloads', hit('NAMESPACE', 'Namespace', 'shop'), `/workloads?instance=${list('alpha')}&namespace=${list('shop')}`],
];
for (const [name, of, want] of cases) {
  test(name, () => assert.equal(addressOf(of), want));
}

test('a member that is also in the inventory is listed once', () => {
  const hits = [hit('CLUSTER', 'Cluster', 'm1'), hit('MEMBER_CLUSTER', 'Cluster', 'm1'), hit('NODE', 'Node', 'm1-n1', { clusterName: 'm1' })];
  assert.deepEqual(different(hits).map((h) => h.type), ['CLUSTER', 'NODE']);
});
