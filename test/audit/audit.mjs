// The audit of GraphQL over HTTP that graphql-http publishes, against a running
// Kairship. Everything that the specification says MUST, SHOULD or MAY has to hold.
import assert from 'node:assert/strict';
import * as current from 'graphql-http';
import * as previous from 'graphql-http-1.22';

import { authorized, url } from './world.mjs';

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
  for (const audit of serverAudits({ url, fetchFn: authorized })) results.push(await audit.fn());
  const failed = results.filter(({ status }) => status !== 'ok');
  for (const { id, name, status, reason, response } of failed) {
    console.log(`not ok - ${id} ${name} (${status}): ${reason}`);
    if (response) console.log(`  HTTP ${response.status} ${response.headers.get('content-type')}`);
  }
  console.log(`graphql-http ${version}, server audit: ${results.length - failed.length}/${results.length}`);
  complete &&= results.length === audits && failed.length === 0;
}
assert.ok(complete, 'every audit of both releases has to pass');
