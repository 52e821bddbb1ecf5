// The tools for assistants as the protocol's own inspector sees them, as several people.
//
//   KAIRSHIP_FLEET  the fleet's folder
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = process.env.KAIRSHIP_FLEET;
assert.ok(folder, 'KAIRSHIP_FLEET names no fleet: `make test-fleet` starts one');
const fleet = JSON.parse(readFileSync(`${folder}/fleet.json`, 'utf8'));
const program = fileURLToPath(new URL('node_modules/.bin/mcp-inspector', import.meta.url));
const tokenOf = (person) => readFileSync(fleet.tokens[person], 'utf8').trim();

/** inspect sends a method with a token, and returns how the inspector ended and what it wrote. */
function inspect(token, method, ...more) {
  const url = new URL('/mcp', fleet.kairshipURL).href;
  const run = spawnSync(program, ['--cli', url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`, '--method', method, ...more], { encoding: 'utf8', timeout: 60_000 });
  return { ok: run.status === 0, text: run.stdout + run.stderr, answer: () => JSON.parse(run.stdout) };
}

const alice = tokenOf('alice');
const { tools } = inspect(alice, 'tools/list').answer();
assert.ok(tools.length >= 14 && tools.every((tool) => tool.description && tool.inputSchema.type === 'object'), 'a tool does not describe itself');
console.log(`ok - ${tools.length} tools describe themselves`);

const { prompts } = inspect(alice, 'prompts/list').answer();
const prompt = inspect(alice, 'prompts/get', '--prompt-name', prompts[0].name, ...(prompts[0].arguments ?? []).flatMap((a) => ['--prompt-args', `${a.name}=shop`]));
assert.ok(prompt.ok && prompt.answer().messages.length > 0, prompt.text);
const templates = inspect(alice, 'resources/templates/list');
assert.ok(templates.ok && templates.answer().resourceTemplates.length > 0, templates.text);
console.log('ok - prompts and resources');

const problems = inspect(alice, 'tools/call', '--tool-name', 'problems');
assert.ok(problems.ok && problems.text.includes('UNSCHEDULED'), problems.text);
const frontend = ['instance=alpha', 'namespace=shop', 'kind=DEPLOYMENT', 'name=frontend'].flatMap((pair) => ['--tool-arg', pair]);
const hers = inspect(alice, 'tools/call', '--tool-name', 'get_workload', ...frontend);
assert.ok(hers.ok && hers.text.includes('frontend') && !hers.answer().isError, hers.text);
console.log('ok - what is broken, and a workload');

const hidden = inspect(tokenOf('mallory'), 'tools/call', '--tool-name', 'get_workload', ...frontend);
assert.ok(!hidden.text.includes('registry.example.com'), `mallory sees ${hidden.text}`);
const wrong = inspect('wrong', 'tools/list');
assert.ok(!wrong.ok && /auth_required|401|nauthor/.test(wrong.text), `a wrong token is answered with ${wrong.text}`);
console.log('ok - mallory sees nothing, and a wrong token is refused');
