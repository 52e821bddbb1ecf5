// An hour of a hundred changes a second, as fast as the pages take them. A proxy before Kairship repeats changes of its streams.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';

import { fleet, signIn, step } from './world.mjs';

/** changes are how many each page is told of, in parts after which its memory is looked at. */
const changes = 360_000;
const parts = 5;
/** growth is how many times as much a page may hold as after the first part. */
const growth = { bytes: 1.25, nodes: 1.1, listeners: 1.1 };

/** repeated returns a change of a stream as a later one, with n replicas. */
function repeated(change, n) {
  const { workload } = change.data.workloadChanged;
  return { data: { workloadChanged: { type: 'MODIFIED', workload: { ...workload, ...(workload.replicas && { replicas: { desired: n, ready: n } }) } } } };
}

/** repeating starts a proxy before Kairship; repeat sends changes of workloads in all streams of them that are open. */
async function repeating() {
  const streams = new Map();
  const server = createServer((asked, answer) => {
    const on = request(fleet.url + asked.url, { method: asked.method, headers: { ...asked.headers, host: new URL(fleet.url).host, origin: fleet.url } }, (from) => {
      answer.writeHead(from.statusCode, from.headers);
      from.pipe(answer);
      if (!/^text\/event-stream/.test(from.headers['content-type'] ?? '')) return;
      let text = '';
      from.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
        const events = text.split('\n\n');
        text = events.pop();
        for (const event of events) {
          const data = /^data: ?(.*"workloadChanged".*)$/m.exec(event)?.[1];
          const change = data && JSON.parse(data);
          if (!change?.data?.workloadChanged?.workload) continue;
          if (!streams.has(answer)) streams.set(answer, []);
          streams.get(answer).push(change);
        }
      });
      answer.on('close', () => streams.delete(answer));
    });
    on.on('error', () => answer.destroy());
    answer.on('close', () => on.destroy());
    asked.pipe(on);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async repeat(from, to) {
      for (const [answer, stored] of streams) {
        for (let n = from; n < to; n += 1) {
          const open = answer.write(`event: next\ndata: ${JSON.stringify(repeated(stored[n % stored.length], n))}\n\n`);
          if (!open) await once(answer, 'drain');
        }
      }
      return streams.size;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** held is what a page holds at rest: bytes of its heap, and its nodes and listeners. What was read last goes with the next collections of garbage. */
async function held(session) {
  const least = { bytes: Infinity, nodes: Infinity, listeners: Infinity };
  for (let tries = 0; tries < 4; tries += 1) {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
    for (const [what, now] of Object.entries({ bytes: usedSize, nodes, listeners: jsEventListeners })) least[what] = Math.min(least[what], now);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  return least;
}

export async function run(world) {
  await step(`pages hold as much after ${changes} changes as after ${changes / parts}`, async () => {
    const proxy = await repeating();
    const { page: table, context, close } = await world.newPage();
    try {
      await signIn(table, 'admin');
      await table.goto(`${proxy.url}/workloads`);
      const rows = table.getByRole('table', { name: 'Workloads' }).getByRole('row');
      await rows.nth(5).waitFor();
      const overview = await context.newPage();
      await signIn(overview, 'admin');
      await overview.goto(proxy.url);
      const all = { table, overview };
      const sessions = {};
      for (const [name, page] of Object.entries(all)) {
        await page.getByText('Live', { exact: true }).waitFor();
        sessions[name] = await context.newCDPSession(page);
        await sessions[name].send('HeapProfiler.enable');
      }
      let first;
      for (let part = 0; part < parts; part += 1) {
        const to = ((part + 1) * changes) / parts;
        assert.ok((await proxy.repeat((part * changes) / parts, to)) >= 2, 'each page has a stream');
        await table.getByText(new RegExp(`^(${to - 1}|${to - 2}|${to - 3})/`)).first().waitFor({ timeout: 60_000 });
        // React keeps what led to the views before the last one.
        for (let n = to; n < to + 4; n += 1) {
          await proxy.repeat(n, n + 1);
          await table.waitForTimeout(250);
        }
        const now = Object.fromEntries(await Promise.all(Object.entries(sessions).map(async ([name, session]) => [name, await held(session)])));
        console.log(`# ${to} changes: ${JSON.stringify(now)}`);
        first ??= now;
        for (const [name, was] of Object.entries(first)) {
          for (const what of Object.keys(was)) assert.ok(now[name][what] <= was[what] * growth[what], `${name}: ${what} grew from ${was[what]} to ${now[name][what]}`);
        }
      }
    } finally {
      await close();
      proxy.close();
    }
  });
}
