// Who may do what on an instance, and who changed what, as the people who use them.
import assert from 'node:assert/strict';

import { fleet, signIn, step } from './world.mjs';

const access = '/instances/alpha/access';

/** pages are those that are tried here. */
export const pages = [access, '/activity'];

export async function run(world) {
  await step('admin gives bob a role, sees it in the activity, and takes it away', async () => {
    const { page, close } = await world.newPage();
    const { page: activity, close: closeActivity } = await world.newPage();
    await signIn(activity, 'admin', '/activity?instance=alpha');
    await activity.getByRole('heading', { name: 'Activity' }).waitFor();
    await signIn(page, 'admin', access);
    await page.getByRole('button', { name: 'Give a role' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'User or group' }).fill('bob');
    await dialog.getByRole('button', { name: 'Check' }).click();
    await dialog.getByText('It can be given: bob becomes Viewer of alpha.').waitFor();
    await dialog.getByRole('button', { name: 'Give a role' }).click();
    await dialog.waitFor({ state: 'detached' });
    const row = page.getByRole('row', { name: /bob.*Viewer/ });
    await row.getByText('given by admin').waitFor();
    await activity.getByRole('row', { name: /admin.*grantInstanceRole/ }).first().waitFor({ timeout: 30_000 });
    await page.getByRole('button', { name: 'Take the role Viewer away from bob' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take away' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await row.waitFor({ state: 'detached' });
    await close();
    await closeActivity();
  });

  await step('who may do what', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', access);
    await page.getByRole('textbox', { name: 'Namespace, if in one' }).fill('shop');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByRole('listitem').getByText(/alice \(user\): Editor/).waitFor();
    await close();
  });

  await step('alice sees her own roles alone, and is offered nothing', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', access);
    await page.getByText('Your roles do not let you manage access').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Give a role' }).count(), 0);
    assert.equal(await page.getByRole('row', { name: /bob|admin/ }).count(), 0);
    await close();
  });

  await step('the activity narrows, and mallory has none', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', '/activity');
    await page.getByRole('textbox', { name: 'User' }).fill('no-such-person');
    await page.getByText('No activity').waitFor();
    assert.equal(new URL(page.url()).searchParams.get('user'), 'no-such-person');
    await close();
    const { page: hers, close: closeHers } = await world.newPage();
    await signIn(hers, 'mallory', '/activity');
    await hers.getByText('No activity').waitFor();
    await hers.goto(fleet.url + access);
    await hers.getByText('There is no such instance').waitFor();
    await closeHers();
  });
}
