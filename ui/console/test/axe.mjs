import { AxeBuilder } from '@axe-core/playwright';
import assert from 'node:assert/strict';

/** check fails with what axe finds wrong with the page. */
export async function check(page, where) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map((v) => `${v.id}: ${v.help}\n  ${v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')}\n  ${n.failureSummary}`).join('\n  ')}`);
  assert.deepEqual(found, [], `${where} is not accessible:\n${found.join('\n')}`);
}
