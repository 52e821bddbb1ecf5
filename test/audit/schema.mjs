// The published schema, read by GraphQL.js, against what a running Kairship answers about
// itself: what is published is what is served, in the eyes of the tools that clients use.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { buildClientSchema, buildSchema, findBreakingChanges, findDangerousChanges, getIntrospectionQuery } from 'graphql';

import { authorized, url } from './world.mjs';

const response = await authorized(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: getIntrospectionQuery({ inputValueDeprecation: true }) }),
});
const { data, errors } = await response.json();
assert.equal(errors, undefined, JSON.stringify(errors));
const served = buildClientSchema(data);
// Supergraphs define the directives of the federation that the file uses.
const published = buildSchema(readFileSync(new URL('../../docs/schema.graphql', import.meta.url), 'utf8'), { assumeValidSDL: true });

// What a subgraph has for its router, and directives that stand in schemas alone, are not published.
const ours = ({ type, description }) => !type.includes('DIRECTIVE') && !/^(Query\.)?(_|federation__|link__)/.test(description) && !/ _Entity\b/.test(description);
const differences = [
  ...[...findBreakingChanges(published, served), ...findDangerousChanges(published, served)].map((change) => ['published, and not served so', change]),
  ...[...findBreakingChanges(served, published), ...findDangerousChanges(served, published)].map((change) => ['served, and not published so', change]),
].filter(([, change]) => ours(change));
for (const [what, { description }] of differences) console.log(`not ok - ${what}: ${description}`);
const count = Object.keys(published.getTypeMap()).filter((name) => !name.startsWith('__')).length;
assert.ok(count > 200, `only ${count} types are published`);
assert.equal(differences.length, 0);
console.log(`the published schema is the one that is served: ${count} types`);
