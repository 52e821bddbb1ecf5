// The types of a client in TypeScript, generated of the OpenAPI document that the fleet serves.
//
//   KAIRSHIP_FLEET  the fleet's folder
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import openapiTS, { astToString } from 'openapi-typescript';

const folder = process.env.KAIRSHIP_FLEET;
assert.ok(folder, 'KAIRSHIP_FLEET names no fleet: `make test-fleet` starts one');
const fleet = JSON.parse(readFileSync(`${folder}/fleet.json`, 'utf8'));
const answer = await fetch(`${fleet.kairshipURL}/api/v1/openapi.json`, { headers: { authorization: `Bearer ${readFileSync(fleet.tokens.alice, 'utf8').trim()}` } });
assert.equal(answer.status, 200);
mkdirSync(new URL('generated/', import.meta.url), { recursive: true });
writeFileSync(new URL('generated/openapi.d.ts', import.meta.url), astToString(await openapiTS(await answer.json())));
