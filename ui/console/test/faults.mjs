// Parts of the fleet end while pages are open: the pages say so, keep what they show, and go on without a reload.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { ask, description, folder, signIn, step } from './world.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** kill ends a process of the fleet at once. */
function kill(name) {
  process.kill(JSON.parse(readFileSync(`${description.pids}/${name}`, 'utf8')).pid, 'SIGKILL');
}

/** start starts it again, and waits until it is ready. */
function start(name) {
  execFileSync('go', ['run', './deploy/local', 'start', '--dir', folder, name], { cwd: root, stdio: 'inherit' });
}

export async function run(world, person) {
  await step('a page outlives its server, and shows what changed meanwhile', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', '/instances/alpha/workloads/DEPLOYMENT/shop/frontend');
    await page.getByText('Live', { exact: true }).waitFor();
    kill('kairship-apiserver');
    await page.getByText('Reconnecting…').waitFor({ timeout: 60_000 });
    await page.getByRole('heading', { name: 'frontend' }).waitFor();
    start('kairship-apiserver');
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 60_000 });
    for (const replicas of [6, 4]) {
      const scaled = await ask(person('alice'), 'mutation($input: ScaleWorkloadInput!) { scaleWorkload(input: $input) { consistencyToken } }', {
        input: { instance: 'alpha', kind: 'DEPLOYMENT', namespace: 'shop', name: 'frontend', replicas },
      });
      if (!scaled?.scaleWorkload) throw new Error('the workload was not scaled');
      await page.getByText(`${replicas} of ${replicas} ready`).waitFor({ timeout: 60_000 });
    }
    await close();
  });

  // These wait for what Kairship and Karmada take for a failure, which is minutes in all.
  if (!process.env.KAIRSHIP_LONG) return;

  await step('an instance that does not answer is shown so, and that it is back', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', '/instances/alpha');
    await page.getByText('Running', { exact: true }).first().waitFor();
    kill('alpha-apiserver');
    try {
      await page.getByText('Unavailable', { exact: true }).first().waitFor({ timeout: 180_000 });
    } finally {
      start('alpha-apiserver');
    }
    await page.getByText('Running', { exact: true }).first().waitFor({ timeout: 180_000 });
    await close();
  });

  await step('a member that does not answer is shown so, and that it is back', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', '/instances/beta/clusters/m3');
    const state = page.getByRole('main');
    await state.getByText('Ready', { exact: true }).first().waitFor();
    kill('m3-apiserver');
    try {
      await state.getByText('Not ready', { exact: true }).first().waitFor({ timeout: 180_000 });
    } finally {
      start('m3-apiserver');
    }
    await state.getByText('Not ready', { exact: true }).first().waitFor({ state: 'detached', timeout: 180_000 });
    await close();
  });

  await step('without the index a page says what can not be read, and reads it when it is back', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', '/instances/alpha/workloads/DEPLOYMENT/shop/frontend');
    await page.getByRole('heading', { name: 'frontend' }).waitFor();
    kill('clusterpedia-apiserver');
    try {
      await page.goto(page.url().replace(/\?.*|$/, '?tab=manifest'));
      await page.getByRole('alert').first().waitFor({ timeout: 60_000 });
    } finally {
      start('clusterpedia-apiserver');
    }
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByText('apiVersion', { exact: false }).first().waitFor({ timeout: 60_000 });
    await close();
  });
}
