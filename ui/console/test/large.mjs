// Lists and graphs that are larger than the fleet: the answers of its API server are multiplied on their way to the page.
import assert from 'node:assert/strict';

import { signIn, step } from './world.mjs';

/** rows are how many the table has loaded while it is scrolled, of total that there are. */
const rows = 10_000;
const total = 80_000;
/** clusters are how many the graph is of; with the pods of each, it has 5,000 boxes. They are drawn a step at a time. */
const clusters = 2_500;
/** inPage is how many rows or boxes may be in the page at a time, and how many one task may draw. */
const inPage = 100;
/** longest is how long a task of the page may take, in milliseconds, in the quietest of some attempts: a busy machine only adds to it. */
const longest = 200;
const attempts = 5;

/** multiply answers an operation of the page with what change makes of the server's answer; it returns the operations that were sent. */
async function multiply(page, name, change) {
  const sent = [];
  await page.route('**/graphql', async (route) => {
    const request = route.request();
    const operation = request.postDataJSON();
    if (operation?.operationName !== name) return route.fallback();
    sent.push(operation.variables);
    // Cursors of rows that there are not are unknown to the server.
    const response = await route.fetch({ postData: { ...operation, variables: { ...operation.variables, ...('after' in operation.variables && { after: null }) } } });
    const answer = await response.json();
    return route.fulfill({ response, json: { ...answer, data: change(answer.data, operation.variables) } });
  });
  return sent;
}

/** drawing asserts that no task of the page draws too many elements at once, or takes too long, while something happens. */
async function drawing(page, selector, happens) {
  for (let attempt = 1; ; attempt += 1) {
    const long = await drawn(page, selector, happens);
    console.log(`# tasks over 50 ms: ${long.join(', ') || 'none'}`);
    if (long.every((duration) => duration <= longest)) return;
    assert.ok(attempt < attempts, `a task took ${Math.max(...long)} ms`);
  }
}

/** drawn asserts how much is drawn, and returns the durations of the tasks that are longer than three frames, in milliseconds. */
async function drawn(page, selector, happens) {
  await page.evaluate((of) => {
    const matching = (node) => (node instanceof Element ? Number(node.matches(of)) + node.querySelectorAll(of).length : 0);
    window.mostAtOnce = 0;
    window.longTasks = [];
    window.drawingObserver = new MutationObserver((changes) => {
      const added = changes.flatMap((change) => [...change.addedNodes]).reduce((sum, node) => sum + matching(node), 0);
      window.mostAtOnce = Math.max(window.mostAtOnce, added);
    });
    window.drawingObserver.observe(document.body, { childList: true, subtree: true });
    window.longTaskObserver = new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((entry) => Math.round(entry.duration))));
    window.longTaskObserver.observe({ type: 'longtask' });
  }, selector);
  await happens();
  const [most, long, has] = await page.evaluate((of) => {
    window.drawingObserver.disconnect();
    window.longTaskObserver.disconnect();
    return [window.mostAtOnce, window.longTasks, document.querySelectorAll(of).length];
  }, selector);
  assert.ok(most > 0 && most <= inPage, `one task drew ${most}`);
  assert.ok(has > 0 && has <= inPage, `${has} are in the page`);
  return long;
}

export async function run(world) {
  await step(`${rows} rows of ${total} are loaded a page at a time, and drawn a screen at a time`, async () => {
    const { page, close } = await world.newPage();
    const sent = await multiply(page, 'Workloads', ({ workloads }, { after, first }) => {
      const begin = Number(after ?? 0);
      const nodes = Array.from({ length: first }, (_, i) => {
        const of = workloads.nodes[i % workloads.nodes.length];
        return { ...of, id: `${of.id}-${begin + i}`, name: `${of.name}-${begin + i}` };
      });
      return { workloads: { ...workloads, totalCount: total, nodes, pageInfo: { hasNextPage: true, endCursor: String(begin + first) } } };
    });
    await signIn(page, 'admin', '/workloads');
    const table = page.getByRole('table', { name: 'Workloads' });
    await table.getByRole('row').nth(5).waitFor();
    assert.equal(sent.length, 1, 'the first view takes one question');
    for (let have = 0; have < rows; ) {
      const before = sent.length;
      await table.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.waitForFunction(([element, height]) => element.scrollHeight > height, [await table.elementHandle(), have * 38]);
      const height = await table.evaluate((element) => element.scrollHeight);
      have = Math.floor(height / 38) - 1;
      assert.ok(sent.length - before <= 3, `one scroll took ${sent.length - before} questions`);
    }
    await drawing(page, '[role=row]', () =>
      table.evaluate(async (element) => {
        for (let at = 0; at < element.scrollHeight - element.clientHeight - 40 * 38; at += 1900) {
          element.scrollTo(0, at);
          await new Promise(requestAnimationFrame);
        }
      }),
    );
    await close();
  });

  await step(`a graph of ${2 * clusters} boxes opens folded, and unfolds and folds a step at a time`, async () => {
    const { page, close } = await world.newPage();
    await multiply(page, 'Workload', (data) => {
      const { workload } = data.instance;
      const [of] = workload.placements;
      const placements = Array.from({ length: clusters }, (_, i) => ({
        ...of, clusterName: `cluster-${i}`, health: i === 7 ? 'DEGRADED' : 'HEALTHY',
        object: { uid: `uid-${i}`, pods: [{ name: `pod-${i}`, phase: 'RUNNING', ready: i !== 7, restarts: 0 }] },
      }));
      return { ...data, instance: { ...data.instance, workload: { ...workload, placements } } };
    });
    await signIn(page, 'admin', '/instances/alpha/workloads/DEPLOYMENT/shop/frontend?tab=graph');
    await page.getByText(`${clusters - 1} healthy clusters`).waitFor();
    await page.getByText('cluster-7', { exact: true }).first().waitFor();
    await drawing(page, '.react-flow__node', async () => {
      for (let steps = 0; steps < 2; steps += 1) {
        await page.getByRole('button', { name: 'Show 50 more' }).click();
        await page.getByText(/^cluster-\d+$/).nth(20).waitFor();
      }
      await page.getByRole('button', { name: 'Fold healthy clusters' }).click();
      await page.getByText(`${clusters - 1} healthy clusters`).waitFor();
    });
    await close();
  });
}
