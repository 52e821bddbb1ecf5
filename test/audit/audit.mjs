// The audit of GraphQL over HTTP that graphql-http publishes, against a running
// Kairship. Everything that the specification says MUST, SHOULD or MAY has to hold.
//
//   KAIRSHIP_URL         where Kairship answers (http://127.0.0.1:8080)
//   KAIRSHIP_TOKEN_FILE  a file with a bearer token that is served
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as current from 'graphql-http';
import * as previous from 'graphql-http-1.22';

const base = process.env.KAIRSHIP_URL ?? 'http://127.0.0.1:8080';
const tokenFile = process.env.KAIRSHIP_TOKEN_FILE;
assert.ok(tokenFile, 'KAIRSHIP_TOKEN_FILE must name a file with a bearer token');
const authorization = `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`;

// The audit knows no credentials, so they are put into each of its requests.
const fetchFn = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, authorization } });

// Version 1.23 asks for more of bodies that do not parse. The number of audits is
// written down, so that a release that asks for less is noticed.
const releases = [
  { version: '1.22.4', audits: 60, serverAudits: previous.serverAudits },
  { version: '1.23.1', audits: 61, serverAudits: current.serverAudits },
];

let complete = true;
for (const { version, audits, serverAudits } of releases) {
  const results = [];
  // One after the other: what so many requests at once may cost is another test.
  for (const audit of serverAudits({ url: `${base}/graphql`, fetchFn })) results.push(await audit.fn());
  const failed = results.filter(({ status }) => status !== 'ok');
  for (const { id, name, status, reason, response } of failed) {
    console.log(`not ok - ${id} ${name} (${status}): ${reason}`);
    if (response) console.log(`  HTTP ${response.status} ${response.headers.get('content-type')}`);
  }
  console.log(`graphql-http ${version}, server audit: ${results.length - failed.length}/${results.length}`);
  complete &&= results.length === audits && failed.length === 0;
}
assert.ok(complete, 'every audit of both releases has to pass');
