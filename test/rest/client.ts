// The main job by a client whose types are generated of the OpenAPI document: what is not healthy, one of that, and why.
//
//   KAIRSHIP_FLEET  the fleet's folder
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import createClient from 'openapi-fetch';

import type { paths } from './generated/openapi';

const folder = process.env.KAIRSHIP_FLEET;
assert.ok(folder, 'KAIRSHIP_FLEET names no fleet: `make test-fleet` starts one');
const fleet: { kairshipURL: string; tokens: Record<string, string> } = JSON.parse(readFileSync(`${folder}/fleet.json`, 'utf8'));
const as = (person: string) =>
  createClient<paths>({ baseUrl: fleet.kairshipURL, headers: { authorization: `Bearer ${readFileSync(fleet.tokens[person]!, 'utf8').trim()}` } });

const alice = as('alice');
const { data: list, error } = await alice.GET('/api/v1/workloads', { params: { query: { health: ['UNSCHEDULED', 'DEGRADED'], first: 20 } } });
assert.ok(list, error?.detail);
const broken = list.nodes.find((w) => w.name === 'stuck');
assert.ok(broken?.namespace, 'the list does not have it');

const path = { instance: broken.instance.name, namespace: broken.namespace, kind: broken.kind, name: broken.name };
const { data: one } = await alice.GET('/api/v1/instances/{instance}/namespaces/{namespace}/workloads/{kind}/{name}', { params: { path } });
assert.equal(one?.health, 'UNSCHEDULED');
const { data: why } = await alice.GET('/api/v1/instances/{instance}/namespaces/{namespace}/workloads/{kind}/{name}/explanation', { params: { path } });
assert.ok(why?.steps.some((step) => step.reasons.some((reason) => reason.code === 'NO_CLUSTER_FITS' && reason.remedy)));

// Those who may not see it get a problem, which has its type too.
const { response, error: problem } = await as('mallory').GET('/api/v1/instances/{instance}/namespaces/{namespace}/workloads/{kind}/{name}', { params: { path } });
assert.equal(response.status, 404);
assert.equal(problem?.code, 'NOT_FOUND');
console.log('ok - a client with generated types finds what is broken, and why');
