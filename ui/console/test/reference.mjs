import assert from 'node:assert/strict';

import { check } from './axe.mjs';
import { fleet, step } from './world.mjs';

/** steps reads the reference of the REST API, which needs no token and loads nothing. */
export async function steps(world) {
  for (const colorScheme of ['light', 'dark']) {
    await step(`the reference of the REST API loads nothing, and is accessible (${colorScheme})`, async () => {
      const { page, close } = await world.newPage({ colorScheme });
      const asked = [];
      page.on('request', (request) => asked.push(request.url()));
      await page.goto(`${fleet.url}/api/v1/`);
      await page.getByRole('link', { name: 'ScaleWorkload', exact: true }).click();
      await page.getByRole('article', { name: 'ScaleWorkload', exact: true }).getByText('/namespaces/{namespace}/workloads/{kind}/{name}:scale').waitFor();
      assert.equal(new URL(page.url()).hash, '#ScaleWorkload');
      assert.deepEqual(asked.filter((url) => !url.endsWith('/favicon.ico')), [`${fleet.url}/api/v1/`]);
      // The other parts are made alike, and all of them together take axe minutes.
      await check(page, 'the reference', 'header', '#noun-search', '#ScaleWorkload', '#schema-WorkloadKind');
      await close();
    });
  }
}
