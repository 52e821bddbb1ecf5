import { AxeBuilder } from '@axe-core/playwright';
import assert from 'node:assert/strict';

/** check fails with what axe finds wrong with the page, or with some parts of it. */
export async function check(page, where, ...parts) {
  const { violations } = await parts.reduce((axe, part) => axe.include(part), new AxeBuilder({ page })).analyze();
  const found = violations.map((v) => `${v.id}: ${v.help}\n  ${v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')}\n  ${n.failureSummary}`).join('\n  ')}`);
  assert.deepEqual(found, [], `${where} is not accessible:\n${found.join('\n')}`);
}
