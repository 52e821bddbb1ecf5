// Where Kairship is, and how it is asked.
//
//   KAIRSHIP_URL         where Kairship answers (http://127.0.0.1:8080)
//   KAIRSHIP_TOKEN_FILE  a file with a bearer token that is served
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const tokenFile = process.env.KAIRSHIP_TOKEN_FILE;
assert.ok(tokenFile, 'KAIRSHIP_TOKEN_FILE must name a file with a bearer token');
const authorization = `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`;

export const url = `${process.env.KAIRSHIP_URL ?? 'http://127.0.0.1:8080'}/graphql`;

// authorized is fetch as a person: neither the audit nor GraphQL.js know credentials.
export const authorized = (address, init = {}) => fetch(address, { ...init, headers: { ...init.headers, authorization } });
