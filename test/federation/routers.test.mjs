import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { routers, supergraph } from './routers.mjs';
import { many } from './teams.mjs';
import { authorization } from './world.mjs';

const world = await supergraph();
after(() => world.close());

// What both routers have to answer alike.
for (const [name, start] of Object.entries(routers)) {
  describe(name, () => {
    let router;
    before(async () => {
      router = await start(world.supergraphSdl);
    });
    after(() => router.close());

    // answered asks something that has to go well.
    const answered = async (person, query, variables) => {
      const { data, errors } = await router.ask(person, query, variables);
      assert.equal(errors, undefined, JSON.stringify(errors));
      return JSON.parse(JSON.stringify(data)); // Without the prototypes, which differ.
    };

    test('an instance that another subgraph extends', async () => {
      assert.deepEqual(await answered('admin', '{ instance(name: "alpha") { name state costCenter team { name } } }'), {
        instance: { name: 'alpha', state: 'RUNNING', costCenter: 'CC-100', team: { name: 'storefront' } },
      });
      const { instances } = await answered('admin', '{ instances(filter: {name: ["alpha", "beta"]}) { nodes { name costCenter memberClusters(filter: {name: ["m1", "m2", "m3"]}) { totalCount } } } }');
      assert.deepEqual(instances.nodes, [
        { name: 'alpha', costCenter: 'CC-100', memberClusters: { totalCount: 2 } },
        { name: 'beta', costCenter: 'CC-200', memberClusters: { totalCount: 1 } },
      ]);
    });

    test('objects that another subgraph refers to by their names', async () => {
      const { team } = await answered('admin', `{ team(name: "storefront") {
        instances { name state costCenter }
        workloads { __typename name namespace health onCall instance { name alias } ... on Deployment { images } placements { clusterName } }
        clusters { name type }
      } }`);
      assert.deepEqual(team.instances, [{ name: 'alpha', state: 'RUNNING', costCenter: 'CC-100' }]);
      assert.deepEqual(team.clusters, [{ name: 'm1', type: 'PHYSICAL' }, { name: 'm2', type: 'PHYSICAL' }]);
      assert.deepEqual(team.workloads.map(({ __typename, name, health, onCall }) => [__typename, name, health, onCall]), [
        ['Deployment', 'frontend', 'HEALTHY', 'shop-frontend@example.org'],
        ['StatefulSet', 'cart', 'HEALTHY', 'shop-cart@example.org'],
      ]);
      assert.equal(team.workloads[0].images.length, 1);
      assert.deepEqual(team.workloads[0].instance, { name: 'alpha', alias: 'Alpha' });
      assert.deepEqual(team.workloads[0].placements, [{ clusterName: 'm1' }, { clusterName: 'm2' }]);
    });

    test('kinds of workloads that another subgraph extends', async () => {
      const { workloads } = await answered('admin', `{ workloads(filter: {namespaces: ["shop"], name: ["frontend", "cart"]}) {
        nodes { name ... on Deployment { runbook } ... on StatefulSet { runbook } } } }`);
      assert.deepEqual(workloads.nodes, [
        { name: 'cart', runbook: 'https://runbooks.example.org/alpha/shop/StatefulSet/cart' },
        { name: 'frontend', runbook: 'https://runbooks.example.org/alpha/shop/Deployment/frontend' },
      ]);
    });

    // The one thing in which they differ: see docs/federation.md.
    const onlyApollo = name === 'Apollo Gateway' ? {} : { todo: 'it answers null for fields of an @interfaceObject where a type has several keys' };
    test('workloads and policies of all kinds, which another subgraph extends at once', onlyApollo, async () => {
      const { workloads, instance } = await answered('admin', `{
        workloads(filter: {namespaces: ["shop", "ops"], name: ["agent", "cart"]}) { nodes { name onCall } }
        instance(name: "alpha") { overridePolicies(filter: {name: ["frontend-image"]}) { nodes { name reviewedBy { name } } } }
      }`);
      assert.deepEqual(workloads.nodes, [
        { name: 'agent', onCall: 'ops-agent@example.org' },
        { name: 'cart', onCall: 'shop-cart@example.org' },
      ]);
      assert.deepEqual(instance.overridePolicies.nodes, [{ name: 'frontend-image', reviewedBy: { name: 'storefront' } }]);
    });

    test('there and back: a namespace, its team, and the instances of that', async () => {
      const { instance } = await answered('admin', '{ instance(name: "beta") { namespace(name: "billing") { phase team { name instances { name ...on Instance @include(if: false) { state } } } } } }');
      assert.deepEqual(instance.namespace, { phase: 'Active', team: { name: 'ledgers', instances: [{ name: 'beta' }, { name: 'long-gone' }] } });
    });

    test('fifty entities are one request', async () => {
      const [{ data }, asked] = await world.kairship.during(() => router.ask('admin', '{ team(name: "everything") { workloads { name health } } }'));
      assert.equal(asked.length, 1);
      const { representations } = asked[0].variables;
      assert.equal(representations.length, many);
      const found = data.team.workloads.filter((one) => one !== null).map((one) => one.name);
      assert.deepEqual(found, ['frontend', 'cart', 'agent', 'report', 'api'], 'the others are gone, each by itself');
    });

    test('what is gone is null, and costs the others nothing', async () => {
      const { data } = await router.ask('admin', '{ team(name: "ledgers") { instances { name state } workloads { name health } } }');
      assert.deepEqual(data.team.instances.map((one) => one && { ...one }), [{ name: 'beta', state: 'RUNNING' }, null]);
      assert.deepEqual(data.team.workloads.map((one) => one?.health), ['HEALTHY', undefined]);
    });

    test('everybody sees what is theirs', async () => {
      const query = '{ instances { totalCount nodes { name costCenter } } storefront: team(name: "storefront") { instances { name state } workloads { name health } } ledgers: team(name: "ledgers") { workloads { name health } } }';
      const seen = async (person) => {
        const { data } = await router.ask(person, query);
        return [
          data.instances.nodes.map(({ name, costCenter }) => `${name} ${costCenter}`),
          data.storefront.instances.map((one) => one?.state ?? null),
          data.storefront.workloads.map((one) => one?.name ?? null),
          data.ledgers.workloads.map((one) => one?.name ?? null),
        ];
      };
      assert.deepEqual(await seen('alice'), [['alpha CC-100'], ['RUNNING'], ['frontend', 'cart'], [null, null]]);
      assert.deepEqual(await seen('bob'), [['beta CC-200'], [null], [null, null], ['api', null]]);
      assert.deepEqual(await seen('mallory'), [[], [null], [null, null], [null, null]]);
    });

    test('without a token there is nothing of Kairship', async () => {
      for (const query of ['{ instance(name: "alpha") { name } }', '{ team(name: "storefront") { name instances { state } } }']) {
        const { data, errors } = await router.ask(undefined, query);
        assert.equal(errors.length, 1, JSON.stringify(errors));
        assert.equal(errors[0].extensions.code, 'UNAUTHENTICATED');
        assert.ok(data.instance === null || data.team.instances.every((one) => one === null));
      }
    });

    test('errors keep their code, their argument and their trace', async () => {
      const { errors } = await router.ask('admin', '{ instances(first: 0) { nodes { name } } }');
      assert.equal(errors.length, 1);
      const { code, argument, traceId } = errors[0].extensions;
      assert.deepEqual([code, argument, errors[0].path.join('.')], ['INVALID', 'first', 'instances']);
      assert.match(traceId, /^[0-9a-f]{32}$/);
    });

    test('mutations go through, as the person', async () => {
      const scale = `mutation($input: ScaleWorkloadInput!) { scaleWorkload(input: $input) { workload { name runbook: labels { key } } } }`;
      const input = { instance: 'alpha', kind: 'DEPLOYMENT', namespace: 'shop', name: 'orphan', replicas: 2, dryRun: true };
      assert.equal((await answered('alice', scale, { input })).scaleWorkload.workload.name, 'orphan');
      const { errors } = await router.ask('bob', scale, { input });
      assert.equal(errors[0].extensions.code, 'NOT_FOUND', 'an instance that bob may not see is none');
    });

    test('credentials and consistency tokens reach Kairship, and the router does not need to know them', async () => {
      const [, asked] = await world.kairship.during(() => router.ask('admin', '{ team(name: "storefront") { instances { state } } }', {}, { 'kairship-consistency-token': 'none' }));
      assert.deepEqual(asked.map(({ headers }) => [headers.authorization, headers['kairship-consistency-token']]), [[authorization('admin'), 'none']]);
    });

    if (name === 'Hive Gateway') {
      test('a subscription, with fields of another subgraph in its events', async () => {
        const events = [];
        for await (const { data, errors } of router.follow('alice', 'subscription { instanceChanged { type instance { name state costCenter team { name } } } }')) {
          assert.equal(errors, undefined, JSON.stringify(errors));
          events.push(data.instanceChanged);
          if (events.at(-1).type === 'SYNCED') break;
        }
        assert.deepEqual(events, [
          { type: 'ADDED', instance: { name: 'alpha', state: 'RUNNING', costCenter: 'CC-100', team: { name: 'storefront' } } },
          { type: 'SYNCED', instance: null },
        ]);
      });

      test('a subscription without a token', async () => {
        for await (const { errors } of router.follow(undefined, 'subscription { instanceChanged { type } }')) {
          assert.equal(errors[0].extensions.code, 'UNAUTHENTICATED');
          return;
        }
        assert.fail('it ended without saying why');
      });
    }
  });
}
