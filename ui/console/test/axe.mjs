import { AxeBuilder } from '@axe-core/playwright';
import assert from 'node:assert/strict';

/** check fails with what axe finds wrong with the page, or with some parts of it. */
export function check(page, where, ...parts) {
  return analyze(parts.reduce((axe, part) => axe.include(part), new AxeBuilder({ page })), where);
}

/** checkColors fails with what axe finds wrong with the colors of the page: other rules are about what themes have in common. */
export function checkColors(page, where) {
  return analyze(new AxeBuilder({ page }).withRules(['color-contrast', 'link-in-text-block']), where);
}

async function analyze(axe, where) {
  const { violations } = await axe.analyze();
  const found = violations.map((v) => `${v.id}: ${v.help}\n  ${v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')}\n  ${n.failureSummary}`).join('\n  ')}`);
  assert.deepEqual(found, [], `${where} is not accessible:\n${found.join('\n')}`);
}
