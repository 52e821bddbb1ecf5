import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from 'graphql-sse';

import { authorization, base, story, subscription } from './world.mjs';

const options = {
  headers: { Authorization: authorization },
  retry: () => new Promise((resolve) => setTimeout(resolve, 200)),
  retryAttempts: 100,
};

test('graphql-sse resumes where it stood', () =>
  story('graphql-sse', async ({ line, received, variables, extensions }) => {
    const client = createClient({ ...options, url: `${line.url}/graphql` });
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

test('graphql-sse runs queries too, and gets errors as results', async () => {
  const client = createClient({ ...options, url: `${base}/graphql` });
  const answer = async (query) => (await client.iterate({ query }).next()).value;
  assert.ok((await answer('{ viewer { username } }')).data.viewer.username);
  assert.equal((await answer('{ nope }')).errors[0].extensions.code, 'INVALID');
  assert.equal((await answer('subscription { nope }')).errors[0].extensions.code, 'INVALID');
  client.dispose();

  const stranger = createClient({ ...options, retryAttempts: 0, url: `${base}/graphql`, headers: { Authorization: 'Bearer wrong' } });
  await assert.rejects(stranger.iterate({ query: subscription }).next(), (error) => error.response.status === 401);
  stranger.dispose();
});
