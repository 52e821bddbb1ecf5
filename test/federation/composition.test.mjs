import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';

import { buildSchema, parse } from 'graphql';

import { compose } from './routers.mjs';
import { kairshipURL, sdlOfKairship } from './world.mjs';

const codes = ({ errors }) => (errors ?? []).map(({ extensions, message }) => extensions?.code ?? message);

const composed = await compose();

test('Kairship composes with subgraphs that refer to it and extend it', () => {
  assert.deepEqual(codes(composed), []);
  const { schema } = composed;
  const fields = (type) => schema.type(type).fields().map(({ name }) => name);
  assert.ok(fields('Instance').includes('costCenter') && fields('Instance').includes('state'));
  for (const kind of ['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob', 'CustomWorkload']) {
    assert.ok(fields(kind).includes('onCall'), `what is added to Workload is on ${kind}`);
  }
  assert.ok(fields('ClusterOverridePolicy').includes('reviewedBy'));
  // Every hint is about something that one of the subgraphs has and Kairship has not, or the other way round.
  const hints = composed.hints.map(({ definition: { code } }) => code);
  assert.deepEqual(hints.filter((code) => !['UNUSED_ENUM_TYPE', 'INCONSISTENT_DESCRIPTION'].includes(code)), []);
});

test('the published schema is what composition is told, and one that plain tools read too', async () => {
  const published = fs.readFileSync(new URL('../../docs/schema.graphql', import.meta.url), 'utf8');
  assert.equal(await sdlOfKairship(), published);
  assert.ok(buildSchema(published).getType('Instance'));
  for (const internal of ['_entities', '_service', '@guard', '@goModel', '@observed']) {
    assert.ok(!published.includes(internal), internal);
  }
});

test('the supergraph carries the tags, for contracts', () => {
  const { schema } = composed;
  const tags = (type, field) => schema.type(type).field(field).appliedDirectivesOf('tag').map((tag) => tag.arguments().name);
  assert.deepEqual(tags('Query', 'node'), ['relay']);
  assert.deepEqual(tags('Deployment', 'manifest'), ['raw']);
  const untagged = schema.type('Mutation').fields().filter(({ name }) => !tags('Mutation', name).includes('write'));
  assert.deepEqual(untagged.map(({ name }) => name), [], 'every mutation is tagged write');
});

test('what cannot be is refused when it is composed, and not when it is asked', async () => {
  const wrong = (sdl) => compose({}, [{
    name: 'wrong',
    typeDefs: parse(`extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable", "@interfaceObject"]) ${sdl}`),
  }]);
  assert.deepEqual(codes(await wrong('type Query { node(id: ID!): Node } interface Node { id: ID! }')), ['INVALID_FIELD_SHARING'],
    'only the subgraph that made an ID can read it');
  assert.deepEqual(codes(await wrong('type Instance @key(fields: "name") { name: String! createdAt: Time! } scalar Time')), ['INVALID_FIELD_SHARING'],
    'what is of an instance, only Kairship knows');
  assert.ok(codes(await wrong('type Query { x: PageInfo } type PageInfo @shareable { hasNextPage: Boolean! }')).includes('SATISFIABILITY_ERROR'),
    'what is shared is the same');
});

test('composition needs credentials too', async () => {
  const response = await fetch(`${kairshipURL}/graphql`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query: '{ _service { sdl } }' }),
  });
  assert.equal(response.status, 401);
  assert.equal((await response.json()).errors[0].extensions.code, 'UNAUTHENTICATED');
});
