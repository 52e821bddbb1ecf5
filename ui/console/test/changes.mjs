// Changes of many workloads at once, views, and policies that are made and deleted, as the people who do it.
import assert from 'node:assert/strict';

import { check } from './axe.mjs';
import { ask, errorOf, fleet, signIn, step } from './world.mjs';

/** pages are those that are tried here. */
export const pages = ['/instances/alpha/new-policy'];

/** labelled reads a label of shop/frontend at its instance. */
async function labelled(as, key) {
  const { instance } = await ask(as, '{ instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { labels { key value } } } }');
  return instance.workload.labels.find((l) => l.key === key)?.value;
}

export async function run(world, person) {
  await step('alice labels all that she filtered: she sees what it hits, does it, and undoes it', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', '/workloads?namespace=shop&labels=app%3Dfrontend&kind=DEPLOYMENT');
    await page.getByText('1 workload', { exact: true }).waitFor();
    for (const [label, is] of [['console-test=yes', 'yes'], ['console-test-', undefined]]) {
      await page.getByRole('button', { name: 'Change all…' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('combobox', { name: 'What to do' }).click();
      await page.getByRole('option', { name: 'Change labels' }).click();
      await dialog.getByRole('combobox', { name: 'Labels' }).fill(label);
      await page.keyboard.press('Enter');
      await dialog.getByRole('button', { name: 'Show what it hits' }).click();
      await dialog.getByRole('region', { name: 'What this would do' }).getByText('shop/frontend').waitFor();
      await dialog.getByRole('button', { name: 'Change 1 workload' }).click();
      await dialog.getByRole('region', { name: 'What was done' }).getByText('1 changed').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).last().click();
      await dialog.waitFor({ state: 'detached' });
      for (let tries = 0; tries < 40 && (await labelled(person('alice'), 'console-test')) !== is; tries += 1) await new Promise((resolve) => setTimeout(resolve, 250));
      assert.equal(await labelled(person('alice'), 'console-test'), is);
    }
    await close();
  });

  await step('bob may change nothing, and is told so', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'bob', '/workloads');
    const change = page.getByRole('button', { name: 'Change all…' });
    await page.getByRole('link', { name: 'api' }).first().waitFor();
    assert.equal(await change.getAttribute('aria-disabled'), 'true');
    await page.goto(`${fleet.url}/instances/beta/new-policy`);
    await page.getByText('Your roles do not allow this here').waitFor();
    await page.goto(`${fleet.url}/instances/alpha/new-policy`);
    await page.getByText('There is no such instance').waitFor();
    await page.goto(`${fleet.url}/policies`);
    await page.getByRole('link', { name: /^billing\// }).first().waitFor();
    assert.equal(await page.getByRole('link', { name: 'New policy' }).count(), 0);
    await close();
  });

  await step('a view is saved, and comes back', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', '/workloads?text=frontend');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('textbox', { name: 'Name of the view' }).fill('Mine');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Mine' }).waitFor();
    await page.goto(`${fleet.url}/workloads`);
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('link', { name: 'Mine' }).click();
    await page.waitForURL((url) => url.searchParams.get('text') === 'frontend');
    assert.equal(await page.getByRole('textbox', { name: 'Name, namespace, label or image' }).inputValue(), 'frontend');
    await close();
  });

  await step('alice makes a policy by the form, and deletes it', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', '/policies?instance=alpha');
    await page.getByRole('link', { name: 'New policy' }).click();
    await page.getByText('Give it a name').waitFor();
    await page.getByRole('combobox', { name: 'Namespace' }).click();
    await page.getByRole('option', { name: 'shop', exact: true }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).first().fill('console-test');
    await page.getByRole('combobox', { name: 'Kind', exact: true }).fill('ConfigMap');
    await page.getByRole('textbox', { name: 'Name', exact: true }).last().fill('none-such');
    await page.getByRole('combobox', { name: 'Clusters' }).fill('m1');
    await page.keyboard.press('Enter');
    await page.getByRole('combobox', { name: 'Replicas' }).click();
    await page.getByRole('option', { name: 'Divided by weight' }).click();
    await page.getByRole('textbox', { name: 'Weight of m1' }).fill('4');
    const yaml = page.getByRole('textbox', { name: 'Spec' });
    await yaml.getByText('weight: 4').waitFor();
    assert.match(await yaml.innerText(), /kind: ConfigMap/);
    assert.match(await yaml.innerText(), /apiVersion: v1/);
    await page.getByText('Nothing changes for the objects that you may read.').waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 1, name: 'console-test' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Nothing changes for the objects that you may read.').waitFor();
    const confirm = dialog.getByRole('button', { name: 'Delete' });
    assert.ok(await confirm.isDisabled(), 'it can be deleted without a look at its name');
    await dialog.getByRole('textbox', { name: 'Type console-test to confirm' }).fill('console-test');
    await confirm.click();
    await page.waitForURL((url) => url.pathname === '/policies');
    await close();
  });

  await step('what the deletion of a policy would do is shown before it', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', '/instances/alpha/policies/PROPAGATION_POLICY/shop/frontend');
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('shop/frontend').first().waitFor();
    await dialog.getByText('lost').first().waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await close();
  });

  await step('admin drains a cluster, follows that to its end, and undoes it', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', '/instances/beta/clusters/m3');
    await page.getByRole('button', { name: 'Drain', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/\d+ leave, \d+ stay\./).waitFor();
    await dialog.getByRole('button', { name: 'Drain', exact: true }).click();
    await dialog.getByRole('region', { name: 'Progress' }).getByText('Told to move').waitFor();
    await dialog.getByRole('status').getByText('Done').waitFor({ timeout: 60_000 });
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('button', { name: 'Undo the drain' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Undo the drain' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Drain', exact: true }).waitFor({ timeout: 60_000 });
    await close();
  });

  await step('what keeps a cluster in its instance is shown before it leaves', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', '/instances/alpha/clusters/m1');
    await page.getByRole('button', { name: 'Remove from the instance' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/\d+ objects? (is|are) sent to it/).waitFor();
    await dialog.getByRole('textbox', { name: 'Type m1 to confirm' }).fill('m1');
    assert.ok(await dialog.getByRole('button', { name: 'Remove from the instance' }).isDisabled(), 'it may leave although objects are sent to it');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await close();
  });

  await step('a cluster is registered with credentials that work alone', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', '/clusters');
    await page.getByRole('button', { name: 'Register a cluster' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('console-test');
    const kubeconfig = dialog.getByRole('textbox', { name: 'kubeconfig' });
    await kubeconfig.fill('clusters: [');
    await dialog.getByRole('button', { name: 'Check' }).click();
    assert.match(await errorOf(page, kubeconfig), /kubeconfig/);
    await check(page, 'an error at its field', '.mantine-Modal-content');
    await close();
    const { page: hers, close: closeHers } = await world.newPage();
    await signIn(hers, 'alice', '/clusters');
    await hers.getByRole('link', { name: 'm1' }).first().waitFor();
    assert.equal(await hers.getByRole('button', { name: 'Register a cluster' }).count(), 0);
    await closeHers();
  });
}
