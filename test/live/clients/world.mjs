// What the tests of all clients share: a namespace of their own, changes to make
// there, and a connection that can be cut.
//
//   KAIRSHIP_URL         where Kairship answers (http://127.0.0.1:8080)
//   KAIRSHIP_TOKEN_FILE  a file with a bearer token that may change alpha
//   KAIRSHIP_FLEET       the fleet's folder: what was made is then gone from everywhere
//                        when a test ends, and no later test finds it half removed
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

export const base = process.env.KAIRSHIP_URL ?? 'http://127.0.0.1:8080';
const tokenFile = process.env.KAIRSHIP_TOKEN_FILE;
assert.ok(tokenFile, 'KAIRSHIP_TOKEN_FILE must name a file with a bearer token');
export const token = readFileSync(tokenFile, 'utf8').trim();
export const authorization = `Bearer ${token}`;

const instance = 'alpha';
const folder = process.env.KAIRSHIP_FLEET;
const fleet = folder ? JSON.parse(readFileSync(join(folder, 'fleet.json'), 'utf8')) : { clusters: [] };

// names asks a cluster itself what there is of a kind, as its administrator.
async function names(cluster, ...what) {
  const args = ['--kubeconfig', cluster.kubeconfig, 'get', ...what, '--ignore-not-found', '-o', 'name'];
  const { stdout } = await promisify(execFile)(join(fleet.bin, 'kubectl'), args);
  return stdout.split('\n').filter(Boolean);
}

async function send(query, variables) {
  const response = await fetch(`${base}/graphql`, {
    method: 'POST',
    headers: { Accept: 'application/graphql-response+json', 'Content-Type': 'application/json', Authorization: authorization },
    body: JSON.stringify({ query, variables }),
  });
  const body = await response.json();
  assert.equal(body.errors, undefined, JSON.stringify(body.errors));
  return body.data;
}

// Namespace makes ConfigMaps in a namespace that no other test has.
export class Namespace {
  constructor(name) {
    this.name = `${name}-${process.pid}-${Date.now().toString(36)}`;
    // The tokens of all that was written: a subscriber with them is told of it
    // before SYNCED, whatever the watches have heard by then.
    this.written = [];
  }

  async create() {
    await send('mutation Create($i: CreateNamespaceInput!) { createNamespace(input: $i) { consistencyToken } }', {
      i: { instance, name: this.name },
    });
  }

  async apply(name, value) {
    const manifests = JSON.stringify({
      apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: this.name, labels: { value } }, data: { value },
    });
    const { applyManifests } = await send(
      'mutation Apply($i: ApplyManifestsInput!) { applyManifests(input: $i) { applied consistencyToken } }',
      { i: { instance, manifests } },
    );
    assert.ok(applyManifests.applied);
    this.written.push(applyManifests.consistencyToken);
  }

  async remove(name) {
    const { deleteResource } = await send(
      'mutation Remove($i: DeleteResourceInput!) { deleteResource(input: $i) { consistencyToken } }',
      { i: { instance, version: 'v1', resource: 'configmaps', namespace: this.name, name } },
    );
    this.written.push(deleteResource.consistencyToken);
  }

  async drop() {
    await send('mutation Drop($i: DeleteNamespaceInput!) { deleteNamespace(input: $i) { consistencyToken } }', {
      i: { instance, name: this.name },
    });
    await this.#gone();
  }

  // #gone waits until the namespace is removed from the instance, then the Works by which
  // Karmada has it in the members, and then its copies there.
  async #gone() {
    const concerned = fleet.clusters.filter((one) => one.name === instance || one.instance === instance);
    const left = async (one) => [
      ...(await names(one, 'namespace', this.name)),
      ...(one.name === instance ? await names(one, 'works.work.karmada.io', '-A') : []).filter((name) => name.includes(`/${this.name}-`)),
    ].map((name) => `${one.name}: ${name}`);
    const ends = Date.now() + 120_000;
    for (;;) {
      const there = (await Promise.all(concerned.map(left))).flat();
      if (there.length === 0) return;
      assert.ok(Date.now() < ends, `two minutes after the namespace was deleted there are ${there}`);
      await pause(500);
    }
  }

  // What the clients subscribe to: the ConfigMaps whose names begin with cm-.
  get variables() {
    return { filter: { instances: [instance], namespaces: [this.name], nameContains: 'cm-' }, after: null };
  }

  // heard waits until Kairship has heard of all that was written, by the watch that all
  // who follow these share.
  async heard() {
    const response = await fetch(`${base}/graphql`, {
      method: 'POST',
      headers: { Accept: 'text/event-stream', 'Content-Type': 'application/json', Authorization: authorization },
      body: JSON.stringify({ query: subscription, variables: this.variables, extensions: this.extensions }),
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let said = '';
    while (!said.includes('"SYNCED"')) {
      const { value, done } = await reader.read();
      assert.ok(!done, `the witness was told ${said}`);
      said += value;
    }
    await reader.cancel();
  }

  // What goes with it in the request: as it is when that is sent.
  get extensions() {
    return { consistencyToken: this.written };
  }
}

export const subscription = `subscription Follow($filter: ResourceChangeFilter, $after: String) {
  resourceChanged(version: "v1", resource: "configmaps", filter: $filter, after: $after) {
    type
    cursor
    resource { name labels { key value } }
  }
}`;

// brief is what an event says, for a person who reads a failed test.
export function brief({ type, resource }) {
  if (!resource) return type;
  return `${type} ${resource.name}=${resource.labels.find(({ key }) => key === 'value')?.value}`;
}

// Received collects what a client got, and waits for it.
export class Received {
  events = [];
  #waiting = [];
  #failed = null;

  fail(error) {
    this.#failed = error;
    this.#waiting.forEach((look) => look());
  }

  push(event) {
    this.events.push(event);
    this.#waiting.forEach((look) => look());
  }

  // expect takes the events that follow and compares them, in any order where a
  // snapshot has none.
  async expect(...wanted) {
    await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`got ${this.events.map(brief)}, and not ${wanted} within 30 s`)), 30_000);
      const look = () => {
        if (this.events.length < wanted.length && !this.#failed) return;
        clearTimeout(late);
        if (this.#failed) reject(new Error(`the client gave up: ${JSON.stringify(this.#failed)}`, { cause: this.#failed }));
        else resolve();
      };
      this.#waiting.push(look);
      look();
    });
    const got = this.events.splice(0, wanted.length);
    assert.deepEqual(got.map(brief).sort(), [...wanted].sort());
    assert.equal(brief(got.at(-1)), wanted.at(-1));
  }
}

// Line is a connection to Kairship that can be cut, as closing a laptop does.
export class Line {
  #sockets = new Set();
  #up = true;
  connections = 0;

  async open() {
    const { hostname, port } = new URL(base);
    this.server = net.createServer((near) => {
      this.connections++;
      if (!this.#up) {
        near.destroy();
        return;
      }
      const far = net.connect(Number(port), hostname);
      for (const [a, b] of [[near, far], [far, near]]) {
        a.pipe(b);
        a.on('error', () => b.destroy());
        a.on('close', () => b.destroy());
      }
      this.#sockets.add(near);
      near.on('close', () => this.#sockets.delete(near));
    });
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  // down cuts what there is, and lets nothing through until up.
  down() {
    this.#up = false;
    this.#sockets.forEach((socket) => socket.destroy());
  }

  up() {
    this.#up = true;
  }

  async close() {
    this.down();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

// story is what every client lives through: what there is, a change, changes while
// it was away, and another one. connect starts a client that hands every event to
// received and connects again automatically, and returns how to stop it. A client that can't
// say what was written meanwhile needs a witness, who hears of it first.
export async function story(name, connect, { witness = false } = {}) {
  const namespace = new Namespace(name);
  const line = new Line();
  const received = new Received();
  await Promise.all([namespace.create(), line.open()]);
  let stop = async () => {};
  try {
    await namespace.apply('cm-one', '1');
    stop = await connect({ line, received, variables: namespace.variables, extensions: namespace.extensions });
    await received.expect('ADDED cm-one=1', 'SYNCED');
    await namespace.apply('cm-two', '2');
    await received.expect('ADDED cm-two=2');
    await namespace.apply('other', 'unasked');

    line.down();
    await namespace.apply('cm-one', '3');
    await namespace.remove('cm-two');
    if (witness) await namespace.heard();
    line.up();
    // What was told before is not told again, and what happened meanwhile is.
    await received.expect('MODIFIED cm-one=3', 'DELETED cm-two=2', 'SYNCED');

    await namespace.apply('cm-three', '4');
    await received.expect('ADDED cm-three=4');
    assert.deepEqual(received.events.map(brief), []);
  } finally {
    await stop();
    await line.close();
    await namespace.drop();
  }
}
