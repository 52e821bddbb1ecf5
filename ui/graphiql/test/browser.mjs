// The page in a real browser against a running Kairship, with nothing but
// loopback in reach.
//
//   KAIRSHIP_URL         where Kairship answers (http://127.0.0.1:8080)
//   KAIRSHIP_TOKEN_FILE  a file with a bearer token that may change alpha
//   CHROMIUM             the browser (/usr/bin/chromium)
//   SCREENSHOT           where to leave a picture of the first query and its answer
//   SCREENSHOT_LIVE      where to leave one of a subscription, once something changed
//
// Arguments are titles of ready-made queries to run; all of them unless told.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

import { base, Namespace, token } from '../../../test/live/clients/world.mjs';

const queryDir = fileURLToPath(new URL('../src/queries/', import.meta.url));
const texts = readdirSync(queryDir)
  .filter((name) => name.endsWith('.graphql'))
  .sort()
  .map((name) => readFileSync(queryDir + name, 'utf8'));
const titleOf = (text) => text.split('\n', 1)[0].replace(/^#\s*/, '');
const allTitles = texts.map(titleOf);
const subscriptions = texts.filter((text) => /^subscription /m.test(text)).map(titleOf);
const titles = process.argv.length > 2 ? process.argv.slice(2) : allTitles;

const isLoopback = (url) => /^(data|blob|about):/.test(url) || ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    // Names resolve to nothing, so that even what the page does not know it asks for stays here.
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
  ],
});

async function step(what, run) {
  await run();
  console.log(`ok - ${what}`);
}

try {
  const context = await browser.newContext({ viewport: { width: 1500, height: 950 } });
  const outside = [];
  const complaints = [];
  const operations = [];
  context.on('request', (request) => {
    if (!isLoopback(request.url())) outside.push(request.url());
    if (new URL(request.url()).pathname === '/graphql') operations.push(request);
  });
  await context.route((url) => !isLoopback(url.href), (route) => route.abort());
  context.on('weberror', (event) => complaints.push(event.error().message));
  context.on('console', (message) => {
    // What was sent before signing in was a 401, which the browser writes down as an error of its own.
    if (message.type() === 'error' && !message.text().includes('401')) complaints.push(message.text());
  });

  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const status = page.locator('.kairship-session > [role=status]');

  await step('the page loads without internet', async () => {
    const response = await page.goto(`${base}/graphiql`);
    assert.equal(response.status(), 200);
    assert.equal(await page.title(), 'Kairship GraphiQL');
    await page.locator('.graphiql-query-editor .monaco-editor').first().waitFor();
    assert.equal(await status.innerText(), 'Not signed in');
  });

  await step('a wrong token is refused and not kept', async () => {
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Bearer token').fill('not-a-token');
    await page.locator('dialog').getByRole('button', { name: 'Sign in' }).click();
    await page.locator('dialog [role=alert]').waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.getItem('kairship.token')), null);
  });

  let sentBefore;
  await step('a right token signs in', async () => {
    sentBefore = operations.length;
    await page.getByLabel('Bearer token').fill(token);
    await page.locator('dialog').getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(/^Signed in as /).waitFor();
    assert.match(await status.innerText(), /^Signed in as \S+/);
  });

  await step('the documentation shows the schema', async () => {
    await page.locator('.graphiql-doc-explorer').getByText('Root Types').waitFor();
    await page.locator('.graphiql-doc-explorer').getByRole('link', { name: 'Query', exact: true }).click();
    await page.locator('.graphiql-doc-explorer').getByRole('link', { name: 'viewer', exact: true }).waitFor();
  });

  await step('the editor checks documents in a worker of this origin', async () => {
    const isGraphQL = (worker) => worker.url().includes('/graphiql/assets/graphql.worker');
    if (!page.workers().some(isGraphQL)) await page.waitForEvent('worker', isGraphQL);
    const foreign = page.workers().map((worker) => worker.url()).filter((url) => !url.startsWith(base));
    assert.deepEqual(foreign, []);
  });

  const shown = page.locator('.graphiql-response .view-lines');

  // running has the page run the subscription in its editor while something is looked at.
  async function running(look) {
    const begun = page.waitForResponse((response) => new URL(response.url()).pathname === '/graphql');
    await page.getByRole('button', { name: 'Execute query (Ctrl-Enter)' }).click();
    const response = await begun;
    assert.equal(response.status(), 200);
    assert.match(response.headers()['content-type'], /^text\/event-stream/);
    await look();
    const ended = page.waitForEvent('requestfailed', (request) => request === response.request());
    await page.getByRole('button', { name: 'Stop query (Ctrl-Enter)' }).click();
    await ended;
  }

  for (const title of titles.filter((title) => subscriptions.includes(title))) {
    await step(`the subscription "${title}" runs until it is stopped`, async () => {
      await page.getByLabel('Ready-made queries').selectOption({ label: title });
      await running(async () => {
        // It is about the whole fleet, so which event is the last one is not for this test to know.
        await shown.getByText('"workloadChanged"').waitFor();
        if (process.env.SCREENSHOT_LIVE) {
          await shown.getByText('"MODIFIED"').waitFor({ timeout: 120_000 });
          await page.waitForTimeout(500);
          await page.screenshot({ path: process.env.SCREENSHOT_LIVE });
        }
      });
    });
  }

  await step('a subscription shows what there is, and then each change', async () => {
    const namespace = new Namespace('graphiql');
    await namespace.create();
    try {
      await namespace.apply('cm-one', '1');
      await page.getByRole('button', { name: 'New tab' }).click();
      await page.locator('.graphiql-query-editor .monaco-editor').first().click();
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.insertText(
        `subscription Mine { resourceChanged(version: "v1", resource: "configmaps", filter: { instances: ["alpha"], ` +
          `namespaces: ["${namespace.name}"], nameContains: "cm-" }) { type resource { name labels { value } } } }`,
      );
      // What the editor adds by itself, such as closing brackets, goes again.
      await page.keyboard.press('ControlOrMeta+Shift+End');
      await page.keyboard.press('Delete');
      // GraphiQL reads the document a moment later, and until then knows no operation to run.
      await page.getByRole('tab', { name: 'Mine' }).waitFor();
      await running(async () => {
        // Nobody else changes anything in this namespace, and only the last event is shown.
        const last = (type) => shown.getByText(`"${type}"`, { exact: true }).waitFor();
        await last('SYNCED');
        await namespace.apply('cm-two', '2');
        await last('ADDED');
        await shown.getByText('"cm-two"').waitFor();
        await namespace.apply('cm-one', '3');
        await last('MODIFIED');
        await shown.getByText('"cm-one"').waitFor();
        await namespace.remove('cm-two');
        await last('DELETED');
        await shown.getByText('"cm-two"').waitFor();
      });
    } finally {
      await namespace.drop();
    }
  });

  for (const title of titles.filter((title) => !subscriptions.includes(title))) {
    await step(`the query "${title}" runs`, async () => {
      await page.getByLabel('Ready-made queries').selectOption({ label: title });
      const answered = page.waitForResponse((response) => new URL(response.url()).pathname === '/graphql');
      await page.getByRole('button', { name: 'Execute query (Ctrl-Enter)' }).click();
      const response = await answered;
      const body = await response.json();
      assert.equal(response.status(), 200, JSON.stringify(body));
      assert.equal(body.errors, undefined, JSON.stringify(body.errors));
      await page.locator('.graphiql-response .view-lines').getByText('"data"').waitFor();
      if (title === titles[0] && process.env.SCREENSHOT) {
        // The response is drawn line by line after it is there.
        await page.waitForTimeout(500);
        await page.screenshot({ path: process.env.SCREENSHOT });
      }
    });
  }

  await step('the token goes to /graphql in its header and nowhere else', async () => {
    const sent = await Promise.all(operations.slice(sentBefore).map((request) => request.headerValue('authorization')));
    assert.ok(sent.length > titles.length);
    assert.deepEqual([...new Set(sent)], [`Bearer ${token}`]);
    const kept = await page.evaluate(() => JSON.stringify(localStorage) + location.href + document.cookie);
    assert.ok(!kept.includes(token));
  });

  await step('a reload keeps the session, a new tab does not get it', async () => {
    await page.reload();
    await page.getByText(/^Signed in as /).waitFor();
    const other = await context.newPage();
    await other.goto(`${base}/graphiql`);
    await other.getByText('Not signed in').waitFor();
    await other.close();
  });

  await step('signing out forgets the token', async () => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Not signed in').waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  });

  await step('no request left this machine, and the browser has nothing to complain about', async () => {
    assert.deepEqual(outside, []);
    assert.deepEqual(complaints, []);
  });
} finally {
  await browser.close();
}
