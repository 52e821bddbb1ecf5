import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';

import { authorization, base, story, subscription } from './world.mjs';

const address = (url) => `${url.replace(/^http/, 'ws')}/graphql`;

const options = {
  webSocketImpl: WebSocket,
  connectionParams: { Authorization: authorization },
  retryWait: () => new Promise((resolve) => setTimeout(resolve, 200)),
  retryAttempts: 100,
  // A line that is down refuses: that is worth another try.
  shouldRetry: () => true,
};

test('graphql-ws resumes where it stood', () =>
  story('graphql-ws', async ({ line, received, variables, extensions }) => {
    const client = createClient({ ...options, url: address(line.url) });
    client.subscribe(
      { query: subscription, variables, extensions },
      {
        next({ data, errors }) {
          assert.equal(errors, undefined, JSON.stringify(errors));
          received.push(data.resourceChanged);
          // The client sends the same request again when it connects again.
          variables.after = data.resourceChanged.cursor;
        },
        error: (error) => received.fail(error),
        complete: () => {},
      },
    );
    return () => client.dispose();
  }));

test('graphql-ws runs queries too, and hears why it is refused', async () => {
  const client = createClient({ ...options, url: address(base) });
  const answer = (query) => client.iterate({ query }).next();
  const { value } = await answer('{ viewer { username } }');
  assert.ok(value.data.viewer.username);
  await assert.rejects(answer('{ nope }'), (errors) => errors[0].extensions.code === 'INVALID');
  await client.dispose();

  const stranger = createClient({ ...options, url: address(base), connectionParams: { Authorization: 'Bearer wrong' } });
  await assert.rejects(stranger.iterate({ query: subscription }).next(), (event) => event.code === 4401 && /UNAUTHENTICATED/.test(event.reason));
  await stranger.dispose();
});
