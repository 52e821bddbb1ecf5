// The tools for assistants, by the protocol's own client: the same answers and refusals as by GraphQL, for each person.
//
//   KAIRSHIP_FLEET  the fleet's folder
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const folder = process.env.KAIRSHIP_FLEET;
assert.ok(folder, 'KAIRSHIP_FLEET names no fleet: `make test-fleet` starts one');
const fleet = JSON.parse(readFileSync(`${folder}/fleet.json`, 'utf8'));
const url = new URL('/mcp', fleet.kairshipURL);

const headersOf = (person) => ({ authorization: `Bearer ${readFileSync(fleet.tokens[person], 'utf8').trim()}` });

async function connect(headers) {
  const client = new Client({ name: 'kairship-tests', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return client;
}

async function call(client, name, given = {}) {
  const answer = await client.callTool({ name, arguments: given });
  const [{ text }] = answer.content;
  return answer.isError ? { refused: text } : JSON.parse(text);
}

const frontend = { instance: 'alpha', namespace: 'shop', kind: 'DEPLOYMENT', name: 'frontend' };
const stuck = { ...frontend, name: 'stuck' };
/** given are arguments of each tool. */
const given = {
  problems: {}, search: { text: 'frontend' }, list_instances: {}, list_member_clusters: { instance: 'alpha' }, list_workloads: { instances: ['alpha'] }, get_workload: frontend,
  explain: stuck, list_pods: { cluster: ['m1'] }, logs: frontend, drift: frontend, timeline: frontend, activity: {},
  preview_policy: { instance: 'alpha', change: 'DELETE', namespace: 'shop', name: 'frontend' }, preview_cluster_loss: { instance: 'alpha', clusters: ['m1'], mode: 'REMOVAL' },
};

const admin = await connect(headersOf('admin'));
const writing = ['apply', 'restart', 'scale'];
const { tools: all } = await admin.listTools();
assert.deepEqual(all.map((t) => t.name).sort(), [...Object.keys(given), ...writing].sort());
const tools = all.filter((t) => !writing.includes(t.name));
for (const tool of tools) {
  assert.ok(tool.annotations.readOnlyHint, `${tool.name} may write`);
  assert.equal(tool.inputSchema.type, 'object');
  const answer = await call(admin, tool.name, given[tool.name]);
  assert.ok(!answer.refused, `${tool.name}: ${answer.refused}`);
}
assert.equal((await admin.listPrompts()).prompts.length, 2);
console.log(`ok - ${tools.length} tools answer`);

// The main job of an assistant: what is broken, why, and what to do.
const problems = await call(admin, 'problems');
const broken = problems.nodes.find((w) => w.namespace === 'shop' && w.name === 'stuck');
assert.equal(broken.health, 'UNSCHEDULED');
assert.equal(problems.freshness.source, 'INDEX');
const why = await call(admin, 'explain', stuck);
assert.ok(why.steps.some((s) => s.reasons.some((r) => r.code === 'NO_CLUSTER_FITS' && r.remedy)));
console.log('ok - what is broken, and why');

// Each person sees what they see by every other way.
const bob = await connect(headersOf('bob'));
const mallory = await connect(headersOf('mallory'));
for (const client of [bob, mallory]) {
  for (const name of ['explain', 'get_workload', 'drift', 'timeline', 'logs', 'list_member_clusters', 'preview_policy', 'preview_cluster_loss']) {
    const { refused } = await call(client, name, given[name]);
    assert.match(refused ?? '', /NOT_FOUND|FORBIDDEN/, `${name} answers who may not see alpha`);
  }
}
for (const name of ['problems', 'list_instances', 'list_workloads', 'list_pods', 'activity']) {
  assert.deepEqual((await call(mallory, name)).nodes, [], `${name} shows mallory something`);
}
assert.ok((await call(bob, 'list_workloads')).nodes.every((w) => w.instance.name === 'beta'));
console.log('ok - others see nothing');

// Resources are answered by the same operations.
const { resourceTemplates } = await admin.listResourceTemplates();
assert.deepEqual(resourceTemplates.map((r) => r.uriTemplate).sort(), ['kairship://instances/{instance}', 'kairship://workloads/{instance}/{namespace}/{kind}/{name}']);
const uris = { 'kairship://instances/alpha': 'alpha', 'kairship://workloads/alpha/shop/DEPLOYMENT/frontend': 'frontend' };
const missing = async (client, uri) => client.readResource({ uri }).then(() => assert.fail(`${uri} is answered`), (error) => error.message);
for (const [uri, name] of Object.entries(uris)) {
  assert.equal(JSON.parse((await admin.readResource({ uri })).contents[0].text).name, name);
  // Those who may not see it learn no more than of what does not exist.
  for (const client of [bob, mallory]) assert.equal(await missing(client, uri), await missing(client, uri.replace('alpha', 'aleph')));
}
await missing(admin, 'kairship://workloads/alpha/shop/DEPLOYMENTS/frontend');
await missing(admin, 'kairship://secrets/alpha/shop/a');
console.log('ok - resources');

// A write takes two calls: the first says what it would do, the second does it.
const alice = await connect(headersOf('alice'));
const desired = async () => (await call(alice, 'get_workload', frontend)).replicas.desired;
const before = await desired();
const more = { ...frontend, replicas: before + 1 };
const tried = await call(alice, 'scale', more);
assert.ok(tried.dryRun && tried.confirm, JSON.stringify(tried));
assert.equal(await desired(), before, 'a dry run wrote');
for (const [who, client] of Object.entries({ bob, mallory })) {
  for (const [name, given] of Object.entries({ scale: more, restart: frontend, apply: { instance: 'alpha', manifests: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mcp, namespace: shop}\n' } })) {
    assert.match((await call(client, name, given)).refused ?? '', /NOT_FOUND|FORBIDDEN/, `${who} tries ${name}`);
    assert.match((await call(client, name, { ...given, confirm: tried.confirm })).refused ?? '', /INVALID/, `${who} has the confirmation of alice`);
  }
}
assert.match((await call(admin, 'scale', { ...more, confirm: tried.confirm })).refused, /INVALID/, 'admin has the confirmation of alice');
assert.match((await call(alice, 'scale', { ...more, replicas: before + 2, confirm: tried.confirm })).refused, /INVALID/, 'other arguments');
assert.equal(await desired(), before, 'what was refused wrote');

/** confirmed tries a call and confirms it, again while controllers change the object in between. */
async function confirmed(name, given) {
  for (let attempt = 0; ; attempt++) {
    const { confirm, refused } = await call(alice, name, given);
    assert.ok(confirm, refused);
    const answer = await call(alice, name, { ...given, confirm });
    if (!answer.refused) return answer;
    assert.match(answer.refused, /CONFLICT/);
    assert.ok(attempt < 60, answer.refused);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
const asked = async (replicas) => {
  for (let attempt = 0; (await desired()) !== replicas; attempt++) {
    assert.ok(attempt < 120, `it never has ${replicas} replicas`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
};
assert.ok((await confirmed('scale', more)).consistencyToken);
await asked(before + 1);
// The first confirmation is for the version before.
assert.match((await call(alice, 'scale', { ...more, confirm: tried.confirm })).refused, /CONFLICT/);
await confirmed('scale', { ...frontend, replicas: before });
await asked(before);

const settings = (value) => ({ instance: 'alpha', manifests: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mcp, namespace: shop}\ndata: {key: "${value}"}\n` });
assert.equal((await confirmed('apply', settings('1'))).results[0].action, 'CREATED');
const stale = await call(alice, 'apply', settings('2'));
await confirmed('apply', settings('3'));
assert.match((await call(alice, 'apply', { ...settings('2'), confirm: stale.confirm })).refused, /CONFLICT/, 'the object was changed since');
assert.equal((await call(alice, 'apply', { instance: 'alpha', manifests: 'apiVersion: v1\nkind: None\nmetadata: {name: a}\n' })).confirm, undefined);
const withSecret = settings('4').manifests + '---\napiVersion: v1\nkind: Secret\nmetadata: {name: mcp, namespace: shop}\n';
assert.match((await call(alice, 'apply', { instance: 'alpha', manifests: withSecret })).refused, /Secret mcp .*FORBIDDEN/, 'an assistant writes a Secret');
const removed = await fetch(`${fleet.kairshipURL}/api/v1/instances/alpha/resource?version=v1&resource=configmaps&namespace=shop&name=mcp`, { method: 'DELETE', headers: { ...headersOf('alice'), 'content-type': 'application/json' } });
assert.equal(removed.status, 200, await removed.text());
const by = await call(admin, 'activity', {});
assert.ok(by.nodes.some((e) => JSON.stringify(e).includes('"mcp"')), `activity does not say that it was an assistant: ${JSON.stringify(by.nodes[0])}`);
console.log('ok - writes are tried, confirmed, and refused');

// What is wrong is said, in a way that can be mended.
assert.match((await call(admin, 'explain', { ...stuck, kind: 'DEPLOYMENTS' })).refused, /kind.*INVALID/s);
assert.match((await call(admin, 'list_workloads', { colour: 'red' })).refused ?? 'ignored', /colour|ignored/);
await assert.rejects(() => admin.callTool({ name: 'delete_everything', arguments: {} }), /unknown tool/);
const writes = await (await fetch(url, { method: 'POST', headers: { ...headersOf('admin'), 'content-type': 'application/json', accept: 'application/json, text/event-stream' }, body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"scaleWorkload"}}' })).text();
assert.match(writes, /unknown tool/);
console.log('ok - mistakes are told');

// No token, a wrong one, a page of another site, another user.
const post = (headers) => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' });
for (const [headers, status] of [
  [{}, 401], [{ authorization: 'Bearer wrong' }, 401], [{ ...headersOf('admin'), origin: 'https://evil.example' }, 403], [{ ...headersOf('admin'), 'impersonate-user': 'bob' }, 400],
]) {
  const answer = await post(headers);
  assert.equal(answer.status, status, `${JSON.stringify(Object.keys(headers))}: ${await answer.text()}`);
}
console.log('ok - who is not known is refused');
