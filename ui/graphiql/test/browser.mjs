// The page in a real browser against a running Kairship, with nothing but
// loopback in reach.
//
//   KAIRSHIP_URL         where Kairship answers (http://127.0.0.1:8080)
//   KAIRSHIP_TOKEN_FILE  a file with a bearer token that may change alpha
//   CHROMIUM             the browser (/usr/bin/chromium)
//   SCREENSHOT           where to leave a picture of the first query and its answer
//   SCREENSHOT_LIVE      where to leave one of a subscription, once something changed
//   THEME                light or dark, as a browser prefers it (light)
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
const mutations = texts.filter((text) => /^mutation /m.test(text)).map(titleOf);
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
  const context = await browser.newContext({ viewport: { width: 1500, height: 950 }, colorScheme: process.env.THEME ?? 'light' });
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

  const run = () => page.getByRole('button', { name: 'Execute query (Ctrl-Enter)' }).click();
  const isGraphQL = (response) => new URL(response.url()).pathname === '/graphql';

  // enter puts a document into a new tab and waits until GraphiQL has read it.
  async function enter(name, text) {
    await page.getByRole('button', { name: 'New tab' }).click();
    await page.locator('.graphiql-query-editor .monaco-editor').first().click();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.insertText(text);
    // What the editor adds automatically, such as closing brackets, goes again.
    await page.keyboard.press('ControlOrMeta+Shift+End');
    await page.keyboard.press('Delete');
    await page.getByRole('tab', { name }).waitFor();
  }

  // kept returns what the browser keeps for the page, in which storage.
  const kept = (of) => page.evaluate((of) => JSON.stringify(window[of]), of);
  const canary = 'kubeconfig-canary';

  await step('the page loads without internet', async () => {
    const response = await page.goto(`${base}/graphiql`);
    assert.equal(response.status(), 200);
    assert.equal(await page.title(), 'Kairship GraphiQL');
    await page.locator('.graphiql-query-editor .monaco-editor').first().waitFor();
    assert.equal(await status.innerText(), 'Not signed in');
  });

  await step('without a token a query is refused', async () => {
    const answered = page.waitForResponse(isGraphQL);
    await run();
    assert.equal((await answered).status(), 401);
    await page.getByText('UNAUTHENTICATED').first().waitFor();
    // Another tab has its own answer.
    await enter('Early', 'query Early { viewer { username } }');
    await run();
    await page.getByText('UNAUTHENTICATED').first().waitFor();
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

  await step('no refusal from before signing in is left on the screen, in any tab', async () => {
    for (const tab of await page.getByRole('tab').all()) {
      await tab.click();
      await page.getByText('UNAUTHENTICATED').first().waitFor({ state: 'detached' });
      assert.equal(await page.getByText('UNAUTHENTICATED').count(), 0);
    }
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
  const panel = page.getByRole('region', { name: 'Subscription' });
  const log = panel.getByRole('log');
  const list = panel.getByRole('table');
  // begin has the page run the subscription in its editor and returns its request.
  async function begin() {
    const begun = page.waitForResponse(isGraphQL);
    await run();
    const response = await begun;
    if (response.status() !== 200) assert.fail(`${response.request().postData()}: HTTP ${response.status()} ${await response.text()}`);
    assert.match(response.headers()['content-type'], /^text\/event-stream/);
    return response.request();
  }

  const ends = (request) => page.waitForEvent('requestfailed', (failed) => failed === request);

  for (const title of titles.filter((title) => subscriptions.includes(title))) {
    await step(`the subscription "${title}" runs until it is stopped`, async () => {
      await page.getByLabel('Ready-made queries').selectOption({ label: title });
      const request = await begin();
      await panel.getByText('Following.').waitFor();
      await list.getByRole('row').nth(1).waitFor();
      if (process.env.SCREENSHOT_LIVE) {
        await log.getByText('MODIFIED').first().waitFor({ timeout: 120_000 });
        await page.screenshot({ path: process.env.SCREENSHOT_LIVE });
      }
      const ended = ends(request);
      await page.getByRole('button', { name: 'Stop query (Ctrl-Enter)' }).click();
      await ended;
      await panel.getByText('Stopped.').waitFor();
    });
  }

  const namespace = new Namespace('graphiql');
  await namespace.create();
  try {
    await namespace.apply('cm-one', '1');
    await enter('Mine', `subscription Mine { resourceChanged(version: "v1", resource: "configmaps", filter: { instances: ["alpha"], ` +
      `namespaces: ["${namespace.name}"], nameContains: "cm-" }) { type instanceName kind resource { id name resourceVersion } } }`);
    let request = await begin();

    // No other test changes anything in this namespace.
    const events = async (...wanted) => {
      await log.getByRole('listitem').nth(wanted.length - 1).waitFor();
      const types = await log.locator('li strong').allInnerTexts();
      assert.deepEqual(types, wanted);
    };
    const names = async (...wanted) => {
      const column = (await list.getByRole('columnheader').allInnerTexts()).indexOf('name') + 1;
      const cells = await list.locator(`tbody td:nth-child(${column})`).allInnerTexts();
      assert.deepEqual(cells.sort(), wanted);
    };

    await step('a subscription logs its events, the newest first, and shows the list that they make', async () => {
      await panel.getByText('Following.').waitFor();
      await events('SYNCED', 'ADDED');
      await names('cm-one');
      const { width, height } = page.viewportSize();
      for (const part of [panel.getByRole('region', { name: 'List' }), log.getByRole('listitem').first()]) {
        const box = await part.boundingBox();
        assert.ok(box.x + box.width <= width && box.y + box.height <= height, `a part of the log is outside of the window: ${JSON.stringify(box)}`);
      }
      const { width: left } = await page.locator('.graphiql-query-editor').boundingBox();
      assert.ok(left > width / 4, `the log leaves ${left} pixels to the editor`);
      await namespace.apply('cm-two', '2');
      await events('ADDED', 'SYNCED', 'ADDED');
      await names('cm-one', 'cm-two');
      const version = await list.getByRole('row', { name: 'cm-one' }).innerText();
      await namespace.apply('cm-one', '3');
      await events('MODIFIED', 'ADDED', 'SYNCED', 'ADDED');
      await names('cm-one', 'cm-two');
      assert.notEqual(await list.getByRole('row', { name: 'cm-one' }).innerText(), version);
      await namespace.remove('cm-two');
      await events('DELETED', 'MODIFIED', 'ADDED', 'SYNCED', 'ADDED');
      await names('cm-one');
    });

    await step('an event in the log has its time and shows all that it said', async () => {
      const newest = log.getByRole('listitem').first();
      assert.ok(Math.abs(Date.now() - Date.parse(await newest.locator('time').getAttribute('datetime'))) < 60_000);
      await newest.locator('summary').click();
      await newest.getByText('"type": "DELETED"').waitFor();
    });

    await step('the keyboard alone opens an event', async () => {
      const second = log.getByRole('listitem').nth(1);
      await second.locator('summary').focus();
      await page.keyboard.press('Enter');
      await second.getByText('"type": "MODIFIED"').waitFor();
    });

    for (const [what, open] of [
      ['of a ready-made query', () => page.getByLabel('Ready-made queries').selectOption({ label: 'Who am I' })],
      ['of a query in a new tab', () => enter('Typed', 'query Typed { viewer { username groups } }')],
    ]) {
      await step(`the first Run ${what} after a subscription runs it, and the subscription has ended`, async () => {
        await page.getByRole('tab', { name: 'Mine' }).click();
        request = await begin();
        await events('SYNCED', 'ADDED');
        const ended = ends(request);
        await open();
        await ended;
        assert.equal(await panel.count(), 0, 'the log belongs to the tab of the subscription');
        const answered = page.waitForResponse(isGraphQL);
        await run();
        const body = await (await answered).json();
        assert.ok(body.data.viewer.username);
        await shown.getByText('"viewer"').waitFor();
      });
    }

    await step('a tab that is opened again still has its log, and a query in it takes its place', async () => {
      await page.getByRole('tab', { name: 'Mine' }).click();
      await panel.getByText('Stopped.').waitFor();
      await names('cm-one');
    });

    await step('without an id on the object the page says what it needs for the list', async () => {
      await enter('NoId', `subscription NoId { resourceChanged(version: "v1", resource: "configmaps", filter: { instances: ["alpha"], ` +
        `namespaces: ["${namespace.name}"] }) { type resource { name } } }`);
      await begin();
      await panel.getByRole('alert').getByText('select type, and id on the object').waitFor();
      await events('SYNCED', 'ADDED');
    });

    await step('a subscription that is refused says why, at once', async () => {
      await enter('Refused', 'subscription Refused { resourceChanged(version: "v1", resource: "configmaps", after: "no cursor") { type } }');
      await run();
      await page.getByText('INVALID').first().waitFor();
      await page.getByRole('button', { name: 'Execute query (Ctrl-Enter)' }).waitFor();
    });
  } finally {
    await namespace.drop();
  }

  await step('comments of ready-made queries wrap', async () => {
    await page.getByLabel('Ready-made queries').selectOption({ label: titles.find((title) => !subscriptions.includes(title)) });
    const editor = page.locator('.graphiql-query-editor .monaco-editor').first();
    await editor.locator('.view-line').first().waitFor();
    const { right, wide } = await editor.evaluate((node) => ({
      right: node.getBoundingClientRect().right,
      wide: Math.max(...[...node.querySelectorAll('.view-line > span')].map((line) => line.getBoundingClientRect().right)),
    }));
    assert.ok(wide <= right, `a line ends at ${wide}, and the editor at ${right}`);
  });

  for (const title of titles.filter((title) => !subscriptions.includes(title))) {
    await step(`the ${mutations.includes(title) ? 'mutation' : 'query'} "${title}" runs`, async () => {
      await page.getByLabel('Ready-made queries').selectOption({ label: title });
      const answered = page.waitForResponse(isGraphQL);
      await run();
      const response = await answered;
      const body = await response.json();
      assert.equal(response.status(), 200, JSON.stringify(body));
      assert.equal(body.errors, undefined, JSON.stringify(body.errors));
      if (mutations.includes(title)) {
        for (const payload of Object.values(body.data)) assert.equal(payload.consistencyToken, null, 'a ready-made mutation wrote something');
      }
      await shown.getByText('"data"').waitFor();
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

  await step('variables and headers are kept for this browser tab alone', async () => {
    await enter('Secret', 'query Secret($name: String!) { instance(name: $name) { name } }');
    for (const [tool, text] of [['Variables', `{ "name": "${canary}" }`], ['Headers', `{ "X-Canary": "${canary}" }`]]) {
      await page.getByRole('button', { name: tool, exact: true }).click();
      await page.locator('.graphiql-editor-tool .monaco-editor:visible').click();
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.insertText(text);
    }
    const answered = page.waitForResponse(isGraphQL);
    await run();
    const request = (await answered).request();
    assert.equal(request.postDataJSON().variables.name, canary);
    assert.equal(await request.headerValue('x-canary'), canary);
    // GraphiQL writes a moment after it was typed.
    await page.waitForFunction((canary) => ['tabState', 'variables', 'queries'].every((key) =>
      (sessionStorage.getItem(`graphiql:${key}`) ?? '').includes(canary)), canary);
    await page.waitForFunction(() => (localStorage.getItem('graphiql:tabState') ?? '').includes('query Secret'));
    assert.ok(!(await kept('localStorage')).includes(canary));
  });

  await step('a reload keeps the session, a new tab does not get it', async () => {
    // As an earlier version of the page left it.
    await page.evaluate((canary) => localStorage.setItem('graphiql:favorites', JSON.stringify({
      favorites: [{ query: '{ old: viewer { username } }', variables: canary, headers: canary }],
    })), canary);
    await page.reload();
    await page.getByText(/^Signed in as /).waitFor();
    await page.getByRole('button', { name: 'Variables', exact: true }).click();
    await page.locator('.graphiql-editor-tool .view-lines:visible').getByText(canary).waitFor();
    const local = await kept('localStorage');
    assert.ok(local.includes('old: viewer') && !local.includes(canary), local);
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

  await step('signing out forgets variables and headers, and keeps documents', async () => {
    await page.getByRole('tab', { name: 'Secret' }).waitFor();
    const local = await kept('localStorage');
    assert.ok(local.includes('query Secret'), local);
    assert.ok(!(local + (await kept('sessionStorage'))).includes(canary));
    assert.ok(!(await page.content()).includes(canary));
  });

  await step('no request left this machine, and the browser has nothing to complain about', async () => {
    assert.deepEqual(outside, []);
    assert.deepEqual(complaints, []);
  });
} finally {
  await browser.close();
}
