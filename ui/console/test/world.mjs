// The fleet that the console is tested against, and browsers with nothing but loopback in reach.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

export const folder = process.env.KAIRSHIP_FLEET;
assert.ok(folder, 'KAIRSHIP_FLEET names no fleet: `make test-fleet` starts one');
export const description = JSON.parse(readFileSync(`${folder}/fleet.json`, 'utf8'));

export const fleet = { url: description.kairshipURL, identityURL: description.identityURL };

/** person is one of the people of the fleet, with the token and the password. */
export function person(name) {
  const read = (path) => readFileSync(path, 'utf8').trim();
  return { token: read(description.tokens[name]), password: read(description.passwords[name]) };
}

/** ask sends an operation as a person, past the page. */
export async function ask(as, query, variables) {
  const response = await fetch(`${fleet.url}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${as.token}` },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()).data;
}

/** errorOf is what a field that has the focus says is wrong with it. */
export async function errorOf(page, field) {
  await field.and(page.locator('[aria-invalid=true]:focus')).waitFor();
  return field.evaluate((element) => element.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id)?.innerText).join(' '));
}

export async function step(what, run) {
  const begun = Date.now();
  await run();
  console.log(`ok - ${what} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
}

/** signIn gives a page the person's token, as if it had been pasted, and opens a path. */
export async function signIn(page, name, path = '/') {
  await page.addInitScript((token) => {
    if (location.port !== '' && sessionStorage.getItem('kairship.token') === null) sessionStorage.setItem('kairship.token', token);
  }, person(name).token);
  await page.goto(fleet.url + path);
}

const isLoopback = (url) => /^(data|blob|about):/.test(url) || new URL(url).hostname === '127.0.0.1';

/** expected are what browsers write down as errors of their own: an answer that is no success. */
const expected = /status of (400|401|403|404|429|503)|\/exec\?\S+ failed: .*Unexpected response code: 403|net::ERR_(INTERNET_DISCONNECTED|NETWORK_CHANGED|ABORTED|CONNECTION_\w+|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)/;

export async function open() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
  const outside = [];
  const complaints = [];
  return {
    async newPage(options = {}) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en', ignoreHTTPSErrors: true, ...options });
      context.on('request', (request) => {
        // What pages of the provider ask for is theirs.
        if (!isLoopback(request.url()) && !request.frame().url().startsWith(fleet.identityURL)) outside.push(request.url());
      });
      context.on('weberror', (event) => complaints.push(event.error().message));
      context.on('console', (message) => {
        if (message.type() === 'error' && !expected.test(message.text())) complaints.push(message.text());
      });
      const page = await context.newPage();
      page.setDefaultTimeout(20_000);
      return { page, context, close: () => context.close() };
    },
    /** assertQuiet fails where a page asked another origin, or a script or the content security policy complained. */
    assertQuiet() {
      assert.deepEqual(outside, [], 'requests left the origin');
      assert.deepEqual(complaints, [], 'pages complained');
    },
    close: () => browser.close(),
  };
}
