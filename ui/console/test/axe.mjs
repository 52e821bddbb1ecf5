import { AxeBuilder } from '@axe-core/playwright';
import assert from 'node:assert/strict';

/**
 * check fails with what axe finds wrong with the page, or with some parts of it. axe judges in the page itself, in a third of the time: its
 * usual way opens one more page for each judgement, for pages that have frames of other origins. The console has no frames.
 */
export async function check(page, where, ...parts) {
  assert.equal(page.frames().length, 1, `${where} has frames`);
  const axe = new AxeBuilder({ page }).options({ resultTypes: ['violations'] }).setLegacyMode();
  const { violations } = await parts.reduce((builder, part) => builder.include(part), axe).analyze();
  const found = violations.map((v) => `${v.id}: ${v.help}\n  ${v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')}\n  ${n.failureSummary}`).join('\n  ')}`);
  assert.deepEqual(found, [], `${where} is not accessible:\n${found.join('\n')}`);
}
