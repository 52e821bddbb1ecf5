//   CHROMIUM             the browser (/usr/bin/chromium)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chromium } from 'playwright-core';

import { authorization, story, subscription } from './world.mjs';

// page is one of Kairship's origin. It gets its cookie with the token, and forgets it.
async function signedIn(browser, url) {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${url}/graphiql`);
  const status = await page.evaluate(
    async (Authorization) => (await fetch('/graphql/session', { method: 'POST', headers: { Authorization } })).status,
    authorization,
  );
  assert.equal(status, 204);
  return page;
}

test("a browser's EventSource resumes where it stood", async () => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update'],
  });
  try {
    await story('eventsource', async ({ line, received, variables, extensions }) => {
      const page = await signedIn(browser, line.url);
      await page.exposeFunction('received', (data, id) => {
        const result = JSON.parse(data);
        if (result.errors) return received.fail(new Error(data));
        assert.equal(id, result.data.resourceChanged.cursor);
        received.push(result.data.resourceChanged);
      });
      // The page does nothing to connect again: the browser does, after the last id.
      await page.evaluate(
        ({ query, variables, extensions }) => {
          const json = { variables: JSON.stringify(variables), extensions: JSON.stringify(extensions) };
          const address = `/graphql?${new URLSearchParams({ query, ...json })}`;
          window.source = new EventSource(address);
          window.source.addEventListener('next', ({ data, lastEventId }) => window.received(data, lastEventId));
        },
        { query: subscription, variables, extensions },
      );
      return () => page.close();
    }, { witness: true });
  } finally {
    await browser.close();
  }
});

test("a browser's EventSource sees errors, and the end", async () => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update'],
  });
  try {
    const page = await signedIn(browser, process.env.KAIRSHIP_URL ?? 'http://127.0.0.1:8080');
    const seen = await page.evaluate(
      () =>
        new Promise((resolve) => {
          const source = new EventSource(`/graphql?${new URLSearchParams({ query: 'subscription { nope }' })}`);
          const seen = [];
          source.addEventListener('next', ({ data }) => seen.push(JSON.parse(data).errors[0].extensions.code));
          source.addEventListener('complete', () => {
            source.close();
            resolve([...seen, 'complete']);
          });
          source.addEventListener('error', () => resolve([...seen, 'error']));
        }),
    );
    assert.deepEqual(seen, ['INVALID', 'complete']);
    // The cookie is out of reach of scripts, and good for nothing else.
    const outcome = await page.evaluate(async () => ({
      cookie: document.cookie,
      query: (await fetch(`/graphql?${new URLSearchParams({ query: '{ viewer { username } }' })}`)).status,
      mutation: (await fetch('/graphql', {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query: '{ viewer { username } }' }),
      })).status,
      signedOut: (await fetch('/graphql/session', { method: 'DELETE' })).status,
      after: (await fetch(`/graphql?${new URLSearchParams({ query: 'subscription { nope }' })}`, { headers: { Accept: 'text/event-stream' } })).status,
    }));
    assert.deepEqual(outcome, { cookie: '', query: 401, mutation: 401, signedOut: 204, after: 401 });
  } finally {
    await browser.close();
  }
});
