// What a terminal in a container sends.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runnerImport } from 'vite';

const { failure, pathOf, protocols } = (await runnerImport(new URL('../../src/workload/session.ts', import.meta.url).pathname)).module;

test('the command and the names are parts of the address, and nothing else', () => {
  const path = pathOf({ instance: 'a/b', clusterName: 'm 1', namespace: 'shop', pod: 'x?y', container: 'web&tty=false' }, ['sh', '-c', 'echo "a&b" #']);
  const url = new URL(path, 'https://kairship.example');
  assert.equal(url.pathname, '/instances/a%2Fb/proxy/apis/cluster.karmada.io/v1alpha1/clusters/m%201/proxy/api/v1/namespaces/shop/pods/x%3Fy/exec');
  assert.deepEqual(url.searchParams.getAll('command'), ['sh', '-c', 'echo "a&b" #']);
  assert.deepEqual(url.searchParams.getAll('tty'), ['true']);
  assert.equal(url.searchParams.get('container'), 'web&tty=false');
});

test('a pasted token is one of the protocols, and none is sent without it', () => {
  assert.deepEqual(protocols(null), ['v5.channel.k8s.io', 'v4.channel.k8s.io']);
  const [, , brought] = protocols('ey>>>???.x');
  const encoded = brought.replace('base64url.bearer.authorization.k8s.io.', '');
  assert.match(encoded, /^[\w-]+$/);
  assert.equal(Buffer.from(encoded, 'base64url').toString(), 'ey>>>???.x');
});

test('how a command ended', () => {
  assert.equal(failure('{"status":"Success"}'), null);
  assert.equal(failure('{"status":"Failure","message":"command terminated with exit code 2"}'), 'command terminated with exit code 2');
  assert.equal(failure('{"status":"Failure"}'), '{"status":"Failure"}');
});
