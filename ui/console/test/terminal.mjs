// Terminals in containers. The containers of the fleet are simulated and run nothing: what a shell answers is played here, in the
// place of the WebSocket's other end. That a real one answers is tested on a real node.
import { check } from './axe.mjs';
import { signIn, step } from './world.mjs';

const pods = '/instances/alpha/workloads/DEPLOYMENT/shop/frontend?tab=pods';
const [stdin, stdout, status, resize] = [0, 1, 3, 4];
const frame = (channel, text) => Buffer.concat([Buffer.from([channel]), Buffer.from(text)]);

/** shell answers what is typed until `exit 3`, and keeps what it was asked for. */
function shell(page) {
  const asked = { urls: [], sizes: [] };
  const ready = page.routeWebSocket(/\/exec\?/, (socket) => {
    asked.urls.push(socket.url());
    let line = '';
    socket.send(frame(stdout, '/ # '));
    socket.onMessage((message) => {
      const text = message.subarray(1).toString();
      if (message[0] === resize) asked.sizes.push(JSON.parse(text));
      if (message[0] !== stdin) return;
      socket.send(frame(stdout, text.replace('\r', '\r\n')));
      line += text;
      if (!line.endsWith('\r')) return;
      if (line === 'exit 3\r') {
        socket.send(frame(status, '{"status":"Failure","message":"command terminated with exit code 3"}'));
        socket.close();
      } else {
        socket.send(frame(stdout, `\u001b[31mit ran ${line.trim()}\u001b[0m\r\n/ # `));
      }
      line = '';
    });
  });
  return { asked, ready };
}

export async function run(world) {
  await step('a terminal runs what is typed, and says how it ended', async () => {
    const { page, close } = await world.newPage();
    const { asked, ready } = shell(page);
    await ready;
    await signIn(page, 'admin', pods);
    await page.getByRole('button', { name: /^Terminal in frontend-/ }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Command' }).fill('sh -l');
    await page.keyboard.press('Enter');
    const screen = dialog.locator('.xterm-rows');
    await screen.getByText('/ #').first().waitFor();
    await page.keyboard.type('uname\r');
    await screen.getByText('it ran uname').waitFor();
    await check(page, 'a terminal');
    await page.keyboard.type('exit 3\r');
    await dialog.getByText('command terminated with exit code 3').waitFor();
    const url = new URL(asked.urls[0]);
    if (asked.urls.length !== 1 || url.searchParams.getAll('command').join(' ') !== 'sh -l' || !/clusters\/m\d\/proxy\/api\/v1\/namespaces\/shop\/pods\/frontend-/.test(url.pathname)) {
      throw new Error(`asked for ${asked.urls}`);
    }
    if (!(asked.sizes[0]?.Width > 40)) throw new Error(`the sizes are ${JSON.stringify(asked.sizes)}`);
    await close();
  });

  await step('who may not run commands in a member is told so', async () => {
    const { page, close } = await world.newPage();
    await signIn(page, 'alice', pods);
    await page.getByRole('button', { name: /^Terminal in frontend-/ }).first().click();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('status').getByText('The session was refused').waitFor();
    await close();
  });
}
