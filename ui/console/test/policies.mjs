// Policies, member clusters, instances and the search, as the people who use them.
import assert from 'node:assert/strict';

import { fleet, person, signIn, step } from './world.mjs';

const frontend = '/instances/alpha/policies/PROPAGATION_POLICY/shop/frontend';
const override = '/instances/alpha/policies/OVERRIDE_POLICY/shop/frontend-image';
const m1 = '/instances/alpha/clusters/m1';

/** pages are those that are tried here. */
export const pages = [
  '/policies',
  frontend,
  `${frontend}?tab=edit`,
  override,
  `${override}?tab=edit`,
  '/instances/alpha',
  m1,
  ...['workloads', 'nodes', 'loss'].map((tab) => `${m1}?tab=${tab}`),
];

/** setWeight changes the second weight of the draft, as a person does. */
async function setWeight(page, from, to) {
  const editor = page.getByRole('textbox', { name: 'Spec' });
  await editor.locator('.cm-line', { hasText: `weight: ${from}` }).last().click();
  await page.keyboard.press('End');
  await page.keyboard.press('Backspace');
  await page.keyboard.type(String(to));
}

/** placed waits until a workload has so many replicas in m1. */
async function placed(replicas) {
  const query = '{ instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { placements { clusterName desired } } } }';
  for (let tries = 0; tries < 60; tries += 1) {
    const response = await fetch(`${fleet.url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${person('alice').token}` },
      body: JSON.stringify({ query }),
    });
    const { placements } = (await response.json()).data.instance.workload;
    if (placements.find((p) => p.clusterName === 'm1')?.desired === replicas) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  assert.fail(`shop/frontend has no ${replicas} replicas in m1`);
}

export async function run(world) {
  await step('the search finds by a part of a name, and the keyboard opens it', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice');
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search everything' }).fill('stuck');
    await page.getByRole('option', { name: /Deployment.*shop\/stuck/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'stuck' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search everything' }).fill('Dark');
    await page.getByRole('option', { name: /Dark/ }).click();
    await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
    await close();
  });

  await step('mallory finds nothing', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'mallory');
    await page.getByText('You see no instances').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search everything' }).fill('frontend');
    await page.getByText('Nothing matches').waitFor();
    for (const [path, says] of [[frontend, 'There is no such policy'], [m1, 'There is no such member cluster'], ['/instances/alpha', 'There is no such instance']]) {
      await page.goto(fleet.url + path);
      await page.getByText(says).waitFor();
    }
    await close();
  });

  await step('the policies of an instance, and what each governs', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', '/policies');
    const stuck = page.getByRole('row', { name: /shop\/stuck/ });
    await stuck.getByText('accelerator=gpu').waitFor();
    await stuck.getByText('1 not well').waitFor();
    await page.getByRole('textbox', { name: 'Part of a name' }).fill('frontend');
    await stuck.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('link', { name: 'shop/frontend', exact: true }).click();
    await page.getByRole('region', { name: '1 workload' }).getByRole('link', { name: 'shop/frontend' }).waitFor();
    await close();
  });

  await step('alice changes a policy: she sees what moves, applies it, sees it happen, and changes it back', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', `${frontend}?tab=edit`);
    for (const [from, to, inM1] of [[3, 1, 2], [1, 3, 1]]) {
      await setWeight(page, from, to);
      const preview = page.getByRole('region', { name: 'What this would do' });
      await preview.getByText('shop/frontend').waitFor();
      await preview.getByText(/m1 \d → \d/).waitFor();
      await preview.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('The policy is applied.').waitFor();
      await placed(inM1);
    }
    await close();
  });

  await step('the form of an override policy and its YAML follow each other, and show what clusters would be sent', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', `${override}?tab=edit`);
    const yaml = page.getByRole('textbox', { name: 'Spec' });
    const line = (text) => yaml.locator('.cm-line', { hasText: text }); // Not what is removed, which is shown too.
    const rule = page.getByRole('group', { name: 'Rule 1' });
    const tag = rule.getByRole('group', { name: 'Image' }).getByRole('textbox', { name: 'Value' });
    const preview = page.getByRole('region', { name: 'What this would do' });
    await page.getByText('this shows what clusters would be sent').waitFor();
    assert.equal(await tag.inputValue(), '1.8.0-canary');
    await tag.fill('1.9.0');
    await line('value: 1.9.0').waitFor();
    await preview.getByText(/:1\.9\.0"$/).waitFor();
    await rule.getByRole('button', { name: 'Add a change' }).click();
    await page.getByRole('menuitem', { name: 'Labels' }).click();
    await rule.getByRole('combobox', { name: 'key=value' }).fill('tier=web');
    await page.keyboard.press('Enter');
    await preview.getByText('/metadata/labels/tier').waitFor();
    await line('tier: web').click();
    await page.keyboard.press('End');
    await page.keyboard.type('2 # mine');
    await rule.getByText('tier=web2').waitFor();
    await rule.getByRole('button', { name: 'Remove Image 1' }).click();
    await line('imageOverrider').waitFor({ state: 'detached' });
    assert.equal(await line('tier: web2 # mine').count(), 1, 'a comment is lost');
    await page.getByRole('button', { name: 'Discard changes' }).click();
    assert.equal(await tag.inputValue(), '1.8.0-canary');
    await close();
  });

  await step('a draft that is no spec is refused in its place', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', `${frontend}?tab=edit`);
    const editor = page.getByRole('textbox', { name: 'Spec' });
    await editor.click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('nope: 1\n');
    await page.getByRole('alert').getByText(/nope is not a field/).waitFor();
    assert.ok(await page.getByRole('button', { name: 'Apply' }).isDisabled());
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByText('Change the spec').waitFor();
    await close();
  });

  await step('what would become of a cluster, and cordoning it', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', `${m1}?tab=loss`);
    await page.getByText('shop/frontend').waitFor();
    await page.getByText('without a place').waitFor();
    for (const [name, then] of [['Cordon', 'Uncordon'], ['Uncordon', 'Cordon']]) {
      await page.getByRole('button', { name, exact: true }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name, exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: then, exact: true }).waitFor({ timeout: 60_000 });
    }
    await close();
  });

  await step('bob reads, and learns why he may not change', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'bob', '/policies');
    await page.getByRole('link', { name: /^billing\// }).first().click();
    await page.getByRole('tab', { name: 'Spec' }).click();
    await page.getByText('Your roles let you read this policy').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Apply' }).count(), 0);
    await page.goto(`${fleet.url}/instances/beta/clusters/m3`);
    const cordon = page.getByRole('button', { name: 'Cordon' });
    await cordon.waitFor();
    assert.equal(await cordon.getAttribute('aria-disabled'), 'true');
    await cordon.hover();
    await page.getByText('Your roles do not allow this here').waitFor();
    await page.goto(fleet.url + frontend);
    await page.getByText('There is no such policy').waitFor();
    await close();
  });
}
