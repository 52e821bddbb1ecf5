// The REST API against its OpenAPI document, and against GraphQL: for every operation that reads, each person of the fleet
// gets the same answer or the same refusal both ways, and every answer fits the document.
//
//   KAIRSHIP_FLEET  the fleet's folder
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const folder = process.env.KAIRSHIP_FLEET;
assert.ok(folder, 'KAIRSHIP_FLEET names no fleet: `make test-fleet` starts one');
const fleet = JSON.parse(readFileSync(`${folder}/fleet.json`, 'utf8'));
const people = ['admin', 'alice', 'bob', 'mallory'];
const tokens = Object.fromEntries(people.map((name) => [name, readFileSync(fleet.tokens[name], 'utf8').trim()]));

/**
 * variables.json has values of the variables in paths and of the parameters that an operation needs (objects), values of single
 * operations, each of which is sent (own), operations of whose objects the fleet has none, so that everyone is answered that
 * (absent), and those that show callers themselves, whether or not they may see the instance (ofTheCaller). The tests of gRPC
 * read it too, and they alone send mutations: values of these (writes), and the codes of dry runs that an administrator is refused
 * as well, such as of what is not there or of an object whose version controllers change (refused).
 */
const { objects, own, absent, ofTheCaller } = JSON.parse(readFileSync(new URL('variables.json', import.meta.url), 'utf8'));
objects.from = new Date(Date.now() - 3600e3).toISOString();

const ask = (person, path, init = {}) =>
  fetch(fleet.kairshipURL + path, { ...init, headers: { authorization: `Bearer ${tokens[person]}`, 'content-type': 'application/json', accept: 'application/json', ...init.headers } });

const document = await (await ask('admin', '/api/v1/openapi.json')).json();
const { valid, errors } = await new Validator().validate(structuredClone(document));
assert.ok(valid, `the document is not valid: ${JSON.stringify(errors)?.slice(0, 2000)}`);
console.log('ok - the document is valid OpenAPI 3.1');

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addFormat('int32', true);
ajv.addFormat('int64', true);
ajv.addSchema({ $id: 'doc', components: document.components });
const compiled = new Map();
function fits(schema, body, what) {
  if (!compiled.has(schema.$ref)) compiled.set(schema.$ref, ajv.compile({ $ref: `doc${schema.$ref}` }));
  const check = compiled.get(schema.$ref);
  assert.ok(check(body), `${what} does not fit ${schema.$ref}: ${JSON.stringify(check.errors?.slice(0, 3))}`);
}

/** request makes the path, the body and the variables of an operation; what it needs and nothing more. */
function request(path, method, op) {
  const variables = {};
  const value = (name) => {
    const found = own[op.operationId]?.[name] ?? objects[name];
    assert.notEqual(found, undefined, `there is no value for ${name} of ${op.operationId}: add one to the test`);
    return (variables[name] = found);
  };
  let at = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(value(name)));
  const query = new URLSearchParams();
  for (const parameter of op.parameters ?? []) {
    if (parameter.in !== 'query' || (!parameter.required && own[op.operationId]?.[parameter.name] === undefined)) continue;
    for (const one of [value(parameter.name)].flat()) query.append(parameter.name, String(one));
  }
  if (query.size > 0) at += `?${query}`;
  if (method === 'get') return { at, variables, init: {} };
  const schema = op.requestBody?.content['application/json'].schema;
  const body = Object.fromEntries([...new Set([...(schema?.required ?? []), ...Object.keys(own[op.operationId] ?? {})])].map((name) => [name, value(name)]));
  return { at, variables, init: { method: 'POST', body: JSON.stringify(body) } };
}

/** same takes out what differs from one moment to the next. */
function same(value) {
  if (Array.isArray(value)) return value.map(same);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !['freshness', 'observedAt', 'lag', 'endCursor', 'traceId', 'usage', 'healthySeconds', 'observedSeconds', 'ratio', 'to'].includes(name)).map(([name, of]) => [name, same(of)]));
}

/** inner is the object that the answer of an operation is. */
function inner(data) {
  let at = data;
  while (at && typeof at === 'object' && Object.keys(at).length === 1 && Object.values(at)[0] !== null && typeof Object.values(at)[0] === 'object' && !Array.isArray(Object.values(at)[0])) at = Object.values(at)[0];
  return at;
}

async function compare(person, path, method, op) {
  const { at, variables, init } = request(path, method, op);
  const what = `${person}: ${method.toUpperCase()} ${at}`;
  const [rest, graphql] = await Promise.all([
    ask(person, at, init),
    ask(person, '/graphql', { method: 'POST', headers: { accept: 'application/graphql-response+json' }, body: JSON.stringify({ documentId: op.operationId, variables }) }),
  ]);
  const [body, result] = [await rest.json(), await graphql.json()];
  if (rest.status !== 200) {
    assert.match(rest.headers.get('content-type'), /^application\/problem\+json/, what);
    fits({ $ref: '#/components/schemas/Problem' }, body, what);
    const refused = result.errors?.[0];
    assert.equal(body.code, refused?.extensions.code ?? 'NOT_FOUND', `${what}: GraphQL says ${JSON.stringify(result).slice(0, 500)}`);
    if (refused) assert.equal(body.detail, refused.message, what);
    return rest.status;
  }
  fits(op.responses['200'].content['application/json'].schema, body, what);
  const { errors: missing, extensions, ...object } = body;
  assert.deepEqual(same(object), same(inner(result.data)), `${what} differs from GraphQL`);
  assert.deepEqual((missing ?? []).map((e) => e.detail), (result.errors ?? []).map((e) => e.message), what);
  return 200;
}

const counted = {};
const problems = [];
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, op] of Object.entries(methods)) {
    const writes = !readFileSync(new URL(`../../api/v1/${op.tags[0]}/${op.operationId}.graphql`, import.meta.url), 'utf8').match(/^query /m);
    if (writes) continue;
    const statuses = {};
    for (const person of people) {
      try {
        statuses[person] = await compare(person, path, method, op);
      } catch (error) {
        problems.push(error.message.slice(0, 1500));
      }
    }
    // Who sees no instance sees none by this way either.
    if (path.includes('{instance}') && statuses.mallory === 200 && !ofTheCaller.includes(op.operationId)) problems.push(`mallory reads ${path}`);
    if (statuses.admin !== undefined && statuses.admin !== 200 && !absent.includes(op.operationId)) problems.push(`admin gets ${statuses.admin} of ${op.operationId}: the test asks for nothing that is there`);
    counted[op.operationId] = statuses;
  }
}
assert.deepEqual(problems, [], problems.join('\n\n'));
console.log(`ok - ${Object.keys(counted).length} reading operations answer ${people.length} people as GraphQL does, and fit the document`);

// The examples of the guide are answered, and not with nothing.
const guide = readFileSync(new URL('../../docs/rest.md', import.meta.url), 'utf8');
const examples = [...guide.matchAll(/^```http\n([^`]*)```/gm)].flatMap((block) => block[1].trim().split('\n'));
assert.ok(examples.length > 5, 'the guide has no examples');
for (const example of examples) {
  const answer = await ask('admin', example.replace('GET ', ''));
  const body = await answer.json();
  assert.equal(answer.status, 200, `${example}: ${JSON.stringify(body)}`);
  assert.notEqual(body.nodes?.length, 0, `${example} finds nothing`);
}
console.log(`ok - the ${examples.length} examples of the guide`);

// Writes: as the caller, with versions, and with problems for those who may not.
const frontend = '/api/v1/instances/alpha/namespaces/shop/workloads/DEPLOYMENT/frontend';
const scale = (person, body, headers) => ask(person, `${frontend}:scale`, { method: 'POST', body: JSON.stringify(body), headers });
const before = await ask('alice', frontend);
const { replicas } = await before.json();
assert.equal((await scale('alice', { replicas: 1, dryRun: true })).status, 200, 'alice may scale');
assert.equal((await scale('alice', { replicas: 1, dryRun: true }, { 'if-match': before.headers.get('etag') })).status, 200, 'the version is the current one');
const conflict = await scale('alice', { replicas: 1, dryRun: true }, { 'if-match': '"1"' });
assert.deepEqual([conflict.status, (await conflict.json()).code], [409, 'CONFLICT']);
for (const person of ['bob', 'mallory']) {
  const refused = await scale(person, { replicas: 1 });
  assert.ok([403, 404].includes(refused.status), `${person} gets ${refused.status}`);
  assert.equal(refused.headers.get('content-type').split(';')[0], 'application/problem+json');
}
const wrong = await scale('alice', { replicas: 'many' });
assert.deepEqual([wrong.status, (await wrong.json()).code], [400, 'INVALID']);
assert.deepEqual((await (await ask('alice', frontend)).json()).replicas.desired, replicas.desired, 'nothing was changed');
assert.equal((await ask('alice', frontend, { headers: { 'if-none-match': (await ask('alice', frontend)).headers.get('etag') } })).status, 304);
// A real write, of what there is already: its token is taken by the next read, and another one is refused.
const { consistencyToken } = await (await scale('alice', { replicas: replicas.desired })).json();
assert.equal((await ask('alice', frontend, { headers: { 'kairship-consistency-token': consistencyToken } })).status, 200);
const foreign = await ask('alice', frontend, { headers: { 'kairship-consistency-token': 'nonsense' } });
assert.deepEqual([foreign.status, (await foreign.json()).more.argument], [400, 'consistencyToken']);
console.log('ok - writes with versions, tokens and refusals');

// A stream gives its first event.
const events = await ask('alice', '/api/v1/watch/workloads?instances=alpha', { headers: { accept: 'text/event-stream' } });
assert.equal(events.headers.get('content-type').split(';')[0], 'text/event-stream');
const reader = events.body.getReader();
let received = '';
while (!received.includes('event: next')) {
  const { done, value } = await reader.read();
  assert.ok(!done, `the stream ended: ${received}`);
  received += new TextDecoder().decode(value);
}
await reader.cancel();
console.log('ok - a stream');
