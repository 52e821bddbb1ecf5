// Workloads that move between clusters, and clusters between instances, as the people who may.
import assert from 'node:assert/strict';

import { check } from './axe.mjs';
import { ask, fleet, signIn, step } from './world.mjs';

const workload = (name) => `/instances/alpha/workloads/STATEFUL_SET/shop/${name}`;
const m1 = '/instances/alpha/clusters/m1';

/** waiting never runs: no node has its label. So its move can be cancelled. */
const waiting = `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: console-move, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: StatefulSet, name: console-move}]
  placement: {clusterAffinity: {clusterNames: [m1]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: console-move, namespace: shop}
spec:
  selector: {matchLabels: {app: console-move}}
  template:
    metadata: {labels: {app: console-move}}
    spec: {nodeSelector: {none: such}, containers: [{name: web, image: "registry.example.com/web:1"}]}
`;

/** plan has a move checked in the dialog of a workload. */
async function plan(page, from, to) {
  await page.getByRole('button', { name: 'Actions' }).click();
  await page.getByRole('menuitem', { name: 'Move' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'From clusters' }).click();
  await page.getByRole('option', { name: from, exact: true }).click();
  await dialog.getByRole('combobox', { name: 'To clusters' }).fill(to);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab'); // Away from the choices, which cover the button.
  await dialog.getByRole('button', { name: 'Check' }).click();
  await dialog.getByRole('region', { name: 'What this would do' }).waitFor();
  return dialog;
}

/** preflight has the move of m1 to the other instance checked. */
async function preflight(page) {
  await page.getByRole('button', { name: 'Move to another instance' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Instance' }).click();
  await page.getByRole('option', { name: /beta/i }).click();
  await dialog.getByRole('button', { name: 'Check' }).click();
  await dialog.getByText('m1 leaves alpha and then joins beta.').waitFor();
  await dialog.getByText(/\d+ objects? (is|are) sent to it/).waitFor();
  return dialog;
}

/** until asks until an answer is right, for half a minute unless told. */
async function until(what, right, seconds = 30) {
  for (let tries = 0; tries < 4 * seconds; tries += 1) {
    if (await right()) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  assert.fail(what);
}

export async function run(world, person) {
  const alice = person('alice');

  await step('alice moves a workload, follows that to its end, and moves it back', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', workload('cart'));
    try {
      for (const [from, to] of [['m1', 'm2'], ['m2', 'm1']]) {
        const dialog = await plan(page, from, to);
        await dialog.getByText('The old copies go when the new ones are ready.').waitFor();
        const [policy, , , after] = await dialog.getByRole('definition').allInnerTexts();
        assert.deepEqual([policy, after], ['shop/cart', to]);
        await dialog.getByRole('button', { name: 'Move', exact: true }).click();
        const progress = dialog.getByRole('region', { name: 'Progress' });
        await progress.getByText('Old copies removed').waitFor();
        await progress.getByRole('status').getByText('Done').waitFor({ timeout: 60_000 });
        await dialog.getByRole('button', { name: 'Close' }).last().click();
        await dialog.waitFor({ state: 'detached' });
        const query = '{ instance(name: "alpha") { propagationPolicy(namespace: "shop", name: "cart") { annotations { key } spec { placement { clusterAffinity { clusterNames } } } } } }';
        await until('the policy records the move after its end', async () => {
          const { annotations, spec } = (await ask(alice, query)).instance.propagationPolicy;
          return spec.placement.clusterAffinity.clusterNames.join() === to && !annotations.some(({ key }) => key.startsWith('kairship.io/move'));
        });
      }
    } finally {
      const { instance } = await ask(alice, '{ instance(name: "alpha") { propagationPolicy(namespace: "shop", name: "cart") { resourceVersion } } }');
      const restored = await ask(alice, 'mutation($input: UpdatePropagationPolicyInput!) { updatePropagationPolicy(input: $input) { consistencyToken } }', {
        input: {
          instance: 'alpha', namespace: 'shop', name: 'cart', resourceVersion: instance.propagationPolicy.resourceVersion,
          spec: { resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'cart' }], placement: { clusterAffinity: { clusterNames: ['m1', 'm2'] }, replicaScheduling: { replicaSchedulingType: 'DUPLICATED' } } },
        },
      });
      assert.ok(restored?.updatePropagationPolicy, 'shop/cart is not sent to both of its clusters again');
    }
    await close();
  });

  await step('alice cancels a move that is under way', async () => {
    const applied = await ask(alice, 'mutation($input: ApplyManifestsInput!) { applyManifests(input: $input) { applied } }', { input: { instance: 'alpha', manifests: waiting } });
    assert.ok(applied.applyManifests.applied);
    const { page, close } = await world.newPage();
    try {
      const query = '{ instance(name: "alpha") { workload(kind: STATEFUL_SET, namespace: "shop", name: "console-move") { policy { name } } } }';
      await until('shop/console-move has no policy', async () => (await ask(alice, query)).instance?.workload?.policy?.name === 'console-move');
      await signIn(page, 'alice', workload('console-move'));
      const dialog = await plan(page, 'm1', 'm2');
      await dialog.getByRole('button', { name: 'Move', exact: true }).click();
      await dialog.getByRole('button', { name: 'Cancel it' }).click();
      await dialog.getByRole('status').getByText('the move was cancelled').waitFor();
    } finally {
      for (const of of [{ group: 'policy.karmada.io', version: 'v1alpha1', resource: 'propagationpolicies' }, { group: 'apps', version: 'v1', resource: 'statefulsets' }]) {
        await ask(alice, 'mutation($input: DeleteResourceInput!) { deleteResource(input: $input) { deleted } }', { input: { ...of, instance: 'alpha', namespace: 'shop', name: 'console-move' } });
      }
    }
    await close();
  });

  await step('bob and alice are not offered the moves that they may not make', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'bob', '/instances/beta/workloads/DEPLOYMENT/billing/api');
    assert.equal(await page.getByRole('button', { name: 'Actions' }).getAttribute('aria-disabled'), 'true');
    await page.goto(`${fleet.url}/instances/beta/clusters/m3`);
    await page.getByRole('heading', { level: 1, name: 'm3' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Move to another instance' }).count(), 0);
    await close();
    const { page: hers, close: closeHers } = await world.newPage();
    await signIn(hers, 'alice', m1);
    const move = hers.getByRole('button', { name: 'Move to another instance' });
    await move.waitFor();
    assert.equal(await move.getAttribute('aria-disabled'), 'true');
    await move.focus();
    await hers.getByText('Your roles let you change no other instance').waitFor();
    await closeHers();
    const refused = await ask(person('bob'), 'mutation { moveWorkload(input: { instance: "beta", kind: DEPLOYMENT, namespace: "billing", name: "api", from: ["m3"], to: ["m9"] }) { policyName } }');
    assert.equal(refused?.moveWorkload ?? null, null, 'bob may move a workload');
  });

  await step('what keeps a cluster is shown before it moves to another instance', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', m1);
    const dialog = await preflight(page);
    const confirm = dialog.getByRole('button', { name: 'Move', exact: true });
    await dialog.getByRole('textbox', { name: 'Type m1 to confirm' }).fill('m1');
    assert.ok(await confirm.isDisabled(), 'it may move although objects are sent to it');
    await dialog.getByRole('checkbox', { name: 'Remove these objects from the cluster' }).check();
    assert.ok(await confirm.isEnabled());
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const { cluster } = await ask(person('admin'), '{ cluster(name: "m1") { instance { name } } }');
    assert.equal(cluster.instance.name, 'alpha', 'a dry run moved it');
    await close();
  });

  await step('the dialogs of moves are accessible, and fit a narrow screen', async () => {
    for (const colorScheme of ['light', 'dark']) {
      const { page, close } = await world.newPage({ colorScheme, viewport: colorScheme === 'dark' ? { width: 390, height: 844 } : { width: 1280, height: 900 } });
      await signIn(page, 'admin', workload('cart'));
      for (const [name, open] of [['move', () => plan(page, 'm1', 'm2')], ['move-cluster', () => preflight(page)]]) {
        if (name === 'move-cluster') await page.goto(fleet.url + m1);
        await open();
        await check(page, `${name} ${colorScheme}`, '.mantine-Modal-content');
        const [has, is] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(has <= is, `${name} is ${has} pixels wide on a screen of ${is}`);
        if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/console-${name}-${colorScheme}.png` });
      }
      await close();
    }
  });

  // A cluster that leaves, and what it ran, take a minute to come back.
  if (!process.env.KAIRSHIP_LONG) return;

  await step('admin takes the move of a cluster back, and all is as before', async () => {
    const { page, close } = await world.newPage();
    const admin = person('admin');
    const query = '{ cluster(name: "m1") { instance { name } conditions { type status } } instance(name: "alpha") { workload(kind: STATEFUL_SET, namespace: "shop", name: "cart") { placements { clusterName health } } } }';
    const asBefore = async () => {
      const { cluster, instance } = (await ask(admin, query)) ?? {};
      const joined = cluster?.conditions.some(({ type, status }) => type === 'Joined' && status === 'True');
      const cart = instance?.workload?.placements.map(({ clusterName, health }) => `${clusterName} ${health}`).join();
      return joined && cluster.instance?.name === 'alpha' && cart === 'm1 HEALTHY,m2 HEALTHY';
    };
    await until('m1 is joined to alpha and runs shop/cart', asBefore);
    await signIn(page, 'admin', m1);
    const dialog = await preflight(page);
    await dialog.getByRole('textbox', { name: 'Type m1 to confirm' }).fill('m1');
    await dialog.getByRole('checkbox', { name: 'Remove these objects from the cluster' }).check();
    await dialog.getByRole('button', { name: 'Move', exact: true }).click();
    await dialog.getByRole('button', { name: 'Cancel it' }).click();
    await until('the move is taken back', async () => (await ask(admin, query))?.cluster.instance?.name === 'alpha');
    await until('m1 is joined to alpha and runs shop/cart again', asBefore, 240);
    await close();
  });
}
