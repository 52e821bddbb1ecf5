// The console in a real browser against a running fleet, as the people who use it, with nothing but loopback in reach.
//
//   KAIRSHIP_FLEET       the fleet's folder
//   CHROMIUM             the browser (/usr/bin/chromium)
//   SCREENSHOTS          a folder to leave pictures of the pages in
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';

import * as access from './access.mjs';
import { check } from './axe.mjs';
import * as changes from './changes.mjs';
import * as faults from './faults.mjs';
import * as instances from './instances.mjs';
import * as large from './large.mjs';
import * as memory from './memory.mjs';
import * as moves from './moves.mjs';
import * as policies from './policies.mjs';
import * as reference from './reference.mjs';
import * as terminal from './terminal.mjs';
import { fleet, open, person, signIn, step } from './world.mjs';

/** mostJavaScript is how much JavaScript the first view may take, compressed, in bytes. */
const mostJavaScript = 250_000;

const pages = [
  '/',
  '/workloads',
  '/clusters',
  '/instances/alpha/workloads/DEPLOYMENT/shop/stuck',
  ...['graph', 'pods', 'manifest', 'revisions', 'timeline'].map((tab) => `/instances/alpha/workloads/DEPLOYMENT/shop/frontend?tab=${tab}`),
  ...policies.pages,
  ...access.pages,
  ...changes.pages,
];
const stuck = '/instances/alpha/workloads/DEPLOYMENT/shop/stuck';
const cart = '/instances/alpha/workloads/STATEFUL_SET/shop/cart';
const frontend = '/instances/alpha/workloads/DEPLOYMENT/shop/frontend';

const world = await open();
try {
  await reference.steps(world);

  await step('a wrong token is refused, and says so', async () => {
    const { page, close } = await world.newPage();
    await page.goto(fleet.url);
    await page.getByLabel('Bearer token of the global cluster').fill('wrong');
    await page.getByRole('button', { name: 'Use this token' }).click();
    await page.getByText('The token is not valid').waitFor();
    await close();
  });

  await step('alice signs in at the provider, and comes back to the page that she wanted', async () => {
    const { page, context, close } = await world.newPage();
    await page.goto(`${fleet.url}/workloads?text=cart`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Name').fill('alice');
    await page.getByLabel('Password').fill(person('alice').password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Workloads' }).waitFor();
    await page.getByRole('link', { name: 'cart' }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('text'), 'cart');
    assert.equal(await page.evaluate(() => document.cookie + JSON.stringify({ ...sessionStorage, ...localStorage })), '{}', 'a script can read the session');
    const cookies = await context.cookies();
    assert.ok(cookies.some((c) => c.name.endsWith('kairship_session') && c.httpOnly && c.sameSite === 'Strict'));
    await page.getByRole('button', { name: 'alice' }).click();
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
    await page.waitForURL((url) => url.href.startsWith(fleet.identityURL));
    await page.goto(fleet.url);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await close();
  });

  await step('the first view takes little JavaScript, and mallory learns nothing from it', async () => {
    const { page, close } = await world.newPage();
    const sizes = [];
    page.on('response', (response) => {
      if (response.url().endsWith('.js')) sizes.push(response.headerValue('content-length').then(Number));
    });
    await signIn(page, 'mallory');
    await page.getByText('You see no instances').waitFor();
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    assert.ok(bytes > 50_000 && bytes <= mostJavaScript, `the first view takes ${bytes} bytes of JavaScript, ${mostJavaScript} at most`);
    await page.goto(fleet.url + frontend);
    await page.getByText('There is no such workload').waitFor();
    await close();
  });

  await step('alice finds what is broken, learns why, previews the fix of its policy, applies it, sees it get well, and goes back', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice');
    const problems = page.getByRole('region', { name: 'Needs attention' });
    await problems.getByRole('link', { name: 'shop/stuck' }).click();
    await page.getByRole('heading', { name: 'stuck' }).waitFor();
    await page.getByText('NO_CLUSTER_FITS').waitFor();
    await page.getByText('What to do: Change the placement of the policy').waitFor();
    for (const [from, to, would, then] of [
      ['accelerator: gpu', 'topology.kubernetes.io/region: north', /\+ m1 2/, 'Healthy'],
      ['topology.kubernetes.io/region: north', 'accelerator: gpu', 'shop/stuck', 'Unscheduled'],
    ]) {
      if (then === 'Healthy') await page.getByRole('link', { name: 'Change policy shop/stuck' }).click();
      else await page.goForward();
      await page.getByRole('textbox', { name: 'Spec' }).locator('.cm-line', { hasText: from }).last().click();
      await page.keyboard.press('End');
      await page.keyboard.press('Shift+Home');
      await page.keyboard.type(to);
      const preview = page.getByRole('region', { name: 'What this would do' });
      await preview.getByText(would).waitFor();
      await preview.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('The policy is applied.').waitFor();
      await page.goBack();
      await page.getByRole('heading', { name: 'stuck' }).locator('..').getByText(then, { exact: true }).waitFor();
    }
    await close();
  });

  await step('the table narrows by facets, and the address has all of it', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', '/workloads?instance=alpha&namespace=shop'); // Other namespaces may hold what other tests left.
    await page.getByRole('link', { name: 'frontend' }).waitFor();
    await page.getByRole('checkbox', { name: 'Unscheduled' }).check();
    await page.getByText('1 workload', { exact: true }).waitFor();
    assert.equal(await page.getByRole('row').count(), 2);
    await page.reload();
    await page.getByText('1 workload', { exact: true }).waitFor();
    assert.ok(await page.getByRole('checkbox', { name: 'Unscheduled' }).isChecked());
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('link', { name: 'frontend' }).waitFor();
    await page.getByRole('textbox', { name: 'Name, namespace, label or image' }).fill('no-such-thing');
    await page.getByText('No workload matches').waitFor();
    await close();
  });

  await step('alice scales a workload, sees it happen, and scales it back', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', frontend);
    for (const replicas of [5, 4]) {
      await page.getByRole('button', { name: 'Actions' }).click();
      await page.getByRole('menuitem', { name: 'Scale' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('textbox', { name: 'Replicas' }).fill('-');
      await dialog.getByRole('textbox', { name: 'Replicas' }).fill(String(replicas));
      await dialog.getByText('The instance accepts this change.').waitFor();
      await dialog.getByRole('button', { name: 'Do it' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByText(`${replicas} of ${replicas} ready`).waitFor({ timeout: 60_000 });
    }
    await close();
  });

  await step('alice sets an image, and goes back to the revision before', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', `${cart}?tab=revisions`);
    const runsNow = page.getByRole('row').filter({ hasText: 'Runs now' });
    const runs = (text) => runsNow.filter({ hasText: text }).first().waitFor({ timeout: 60_000 });
    await runsNow.first().waitFor();
    const image = (await runsNow.first().getByRole('cell').nth(3).innerText()).trim();
    const newer = `${image.slice(0, image.lastIndexOf(':'))}:console-${Date.now()}`;
    await page.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Set image' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Image' }).fill(newer);
    await dialog.getByText('The instance accepts this change.').waitFor();
    await dialog.getByRole('button', { name: 'Do it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await runs(newer);
    await page.getByRole('row').filter({ hasText: image }).filter({ hasNotText: 'Runs now' }).first().getByRole('button', { name: 'Roll back' }).click();
    await dialog.getByText(/It gets the pod template of revision \d+ in m\d/).waitFor();
    await dialog.getByText('The instance accepts this change.').waitFor();
    await dialog.getByRole('button', { name: 'Do it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await runs(image);
    await close();
  });

  await step('bob is not offered what he may not do', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'bob', '/instances/beta/workloads/DEPLOYMENT/billing/api');
    const actions = page.getByRole('button', { name: 'Actions' });
    assert.equal(await actions.getAttribute('aria-disabled'), 'true');
    await actions.hover();
    await page.getByText('Your roles do not allow this here').waitFor();
    await page.goto(fleet.url + stuck);
    await page.getByText('There is no such workload').waitFor();
    await close();
  });

  await step('what alice reads of logs is the answer of the instance', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', `${frontend}?tab=pods`);
    await page.getByRole('cell', { name: /^frontend-/ }).first().waitFor();
    await page.getByRole('button', { name: 'Logs' }).click();
    // An editor may not read through clusters/proxy, and is told so.
    await page.getByRole('alert').getByText(/clusters\/proxy|may not/).waitFor();
    await close();
  });

  await step('a page that was lost comes back with its server', async () => {
    const { page, context, close } = await world.newPage();
    await signIn(page, 'admin');
    await page.getByText('Live', { exact: true }).waitFor();
    await context.setOffline(true);
    await page.goto(`${fleet.url}/workloads`).catch(() => undefined);
    await context.setOffline(false);
    await page.goto(`${fleet.url}/workloads`);
    await page.getByRole('link', { name: 'frontend' }).waitFor();
    await close();
  });

  await terminal.run(world);
  await policies.run(world);
  await access.run(world);
  await changes.run(world, person);
  await moves.run(world, person);
  await instances.run(world, person);

  for (const locale of ['en', 'zh-CN']) {
    await step(`all pages are accessible: light and dark, ${locale}`, async () => {
      const { page, close } = await world.newPage({ colorScheme: 'light', locale });
      await signIn(page, 'admin');
      for (const path of pages) {
        await page.goto(fleet.url + path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForLoadState('load');
        await page.waitForTimeout(400); // What is drawn in steps is drawn.
        await check(page, `${path} light ${locale}`);
        await page.emulateMedia({ colorScheme: 'dark' });
        await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
        await page.waitForTimeout(400);
        await check(page, `${path} dark ${locale}`);
        await page.emulateMedia({ colorScheme: 'light' });
      }
      await close();
    });
  }

  await step('nothing leaves a narrow screen', async () => {
    const { page, close } = await world.newPage({ viewport: { width: 390, height: 844 } });
    await signIn(page, 'admin');
    for (const path of pages) {
      await page.goto(fleet.url + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const [has, is] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.ok(has <= is, `${path} is ${has} pixels wide on a screen of ${is}`);
    }
    await close();
  });

  if (process.env.SCREENSHOTS) {
    mkdirSync(process.env.SCREENSHOTS, { recursive: true });
    const names = { fleet: '/', workloads: '/workloads', why: stuck, graph: `${frontend}?tab=graph`, policy: '/instances/alpha/policies/PROPAGATION_POLICY/shop/frontend?tab=edit', cluster: '/instances/alpha/clusters/m1?tab=loss', clusters: '/clusters', 'new-policy': '/instances/alpha/new-policy' };
    for (const colorScheme of ['light', 'dark']) {
      const { page, close } = await world.newPage({ colorScheme, viewport: { width: 1280, height: 760 } });
      await signIn(page, 'admin');
      for (const [name, path] of Object.entries(names)) {
        await page.goto(fleet.url + path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForTimeout(1000);
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/console-${name}-${colorScheme}.png` });
      }
      await close();
    }
  }
  await large.run(world);
  await memory.run(world);
  await faults.run(world, person);
  world.assertQuiet();
  console.log('passed');
} finally {
  await world.close();
}
