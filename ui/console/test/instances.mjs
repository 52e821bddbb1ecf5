// Instances that Kairship installs and upgrades, as those who may.
import assert from 'node:assert/strict';

import { ask, errorOf, signIn, step } from './world.mjs';

const name = 'console-managed';

export async function run(world, person) {
  const admin = person('admin');

  await step('an installation is tried before it is done, and offered to those who may', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin');
    await page.getByRole('button', { name: 'Install an instance' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('alpha');
    await dialog.getByRole('combobox', { name: 'Host cluster' }).click();
    await page.getByRole('option', { name: 'm3', exact: true }).click();
    await dialog.getByRole('combobox', { name: 'Version of Karmada' }).click();
    await page.getByRole('option', { name: 'v1.18.2' }).click();
    await dialog.getByRole('button', { name: 'Check' }).click();
    assert.match(await errorOf(page, dialog.getByRole('textbox', { name: 'Name', exact: true })), /alpha/);
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
    await dialog.getByRole('button', { name: 'Check' }).click();
    await dialog.getByText('The instance can be installed.').waitFor();
    assert.ok(await dialog.getByRole('button', { name: 'Install an instance' }).isEnabled());
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.equal((await ask(admin, `{ instance(name: "${name}") { name } }`)).instance, null, 'a trial made an instance');
    await close();
    const { page: hers, close: closeHers } = await world.newPage();
    await signIn(hers, 'alice');
    await hers.getByRole('heading', { name: 'Instances' }).waitFor();
    assert.equal(await hers.getByRole('button', { name: 'Install an instance' }).count(), 0);
    await closeHers();
  });

  await step('an upgrade shows what is in its way first', async () => {
    // Its registry is not permitted, so that nothing is installed.
    const made = await ask(admin, 'mutation($input: CreateInstanceInput!) { createInstance(input: $input) { instance { name } } }', {
      input: { instance: name, hostCluster: 'm3', karmadaVersion: 'v1.18.2', deletionPolicy: 'DELETE', components: { imageRegistry: 'registry.invalid/none' } },
    });
    assert.equal(made.createInstance?.instance.name, name);
    const { page, close } = await world.newPage();
    try {
      await signIn(page, 'admin', `/instances/${name}`);
      await page.getByRole('button', { name: 'Upgrade' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('combobox', { name: 'Version of Karmada' }).click();
      await page.getByRole('option', { name: 'v1.19.0' }).click();
      await dialog.getByRole('button', { name: 'Check' }).click();
      await dialog.getByText('Passed', { exact: true }).first().waitFor();
      await dialog.getByText('Not passed', { exact: true }).first().waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    } finally {
      const { deleteInstance } = await ask(admin, 'mutation($input: DeleteInstanceInput!) { deleteInstance(input: $input) { deleted } }', { input: { instance: name, force: true } });
      assert.ok(deleteInstance, 'the instance was not deleted');
    }
    await page.getByText('There is no such instance').waitFor({ timeout: 60_000 });
    await close();
    const { page: hers, close: closeHers } = await world.newPage();
    await signIn(hers, 'alice', '/instances/alpha');
    await hers.getByRole('heading', { level: 1 }).waitFor();
    assert.equal(await hers.getByRole('button', { name: 'Upgrade' }).count(), 0, 'an External instance is not upgraded by Kairship');
    await closeHers();
  });
}
