// The console on containers that really run: a member of the fleet that is a real node. `make test-real-member` starts both, and
// test/real runs this while its application is there: `runs` writes a line each second, `breaks` ends with code 3.
import { check } from './axe.mjs';
import { open, signIn, step } from './world.mjs';

const workload = (name, tab) => `/instances/alpha/workloads/DEPLOYMENT/real-member/${name}${tab ? `?tab=${tab}` : ''}`;

const world = await open();
try {
  await step('a crash is explained by what the kubelet says', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', workload('breaks'));
    await page.getByText('POD_CRASHING').first().waitFor();
    await page.getByRole('button', { name: 'What it wrote last' }).first().click();
    await page.getByText('main it breaks').first().waitFor();
    await check(page, 'the last words of a container');
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/crash.png` });
    await close();
  });

  await step('the log of a container goes on as it writes', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', workload('runs', 'pods'));
    await page.getByRole('button', { name: 'Logs' }).click();
    const log = page.getByRole('region', { name: 'Logs' }).locator('pre');
    await page.getByText(/runs-\S+\/main\s+it runs/).waitFor();
    const before = (await log.innerText()).split('\n').length;
    await page.waitForFunction((n) => document.querySelector('pre.kairship-log').innerText.split('\n').length > n + 1, before);
    await close();
  });

  await step('a terminal in a container answers, and says how it ended', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'admin', workload('runs', 'pods'));
    const button = page.getByRole('button', { name: /^Terminal in runs-/ }).first();
    const pod = (await button.getAttribute('aria-label')).replace('Terminal in ', '');
    await button.click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Run' }).click();
    const screen = dialog.locator('.xterm-rows');
    await screen.getByText(/[#$]/).first().waitFor();
    await page.keyboard.type('echo in $(hostname)\r');
    await screen.getByText(`in ${pod}`, { exact: true }).waitFor();
    await page.keyboard.type('printf "\\033[31m%s\\033[0m\\n" coloured; id -u\r');
    await screen.getByText('coloured', { exact: true }).waitFor();
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/terminal.png` });
    await page.keyboard.type('exit 3\r');
    await dialog.getByText(/exit code 3/).waitFor();
    await close();
  });
  world.assertQuiet();
} finally {
  await world.close();
}
