import { createClient as createEventClient, type Client as EventClient } from 'graphql-sse';
import { Client, fetchExchange, subscriptionExchange } from 'urql';

import { authorization } from './session';

/** connection is the state of the live connection. */
export type Connection = 'idle' | 'open' | 'lost';

type Listener = (connection: Connection) => void;
const listeners = new Set<Listener>();
let connection: Connection = 'idle';

function setConnection(next: Connection): void {
  if (next === connection) return;
  connection = next;
  for (const listener of listeners) listener(next);
}

export function currentConnection(): Connection {
  return connection;
}

export function onConnection(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** retryAfter is the pause before a stream that was lost is opened again, in milliseconds. */
const retryAfter = (retries: number): number => Math.min(500 * 2 ** retries, 15_000) * (0.75 + Math.random() / 2);

const events: EventClient = createEventClient({
  url: '/graphql',
  headers: authorization,
  retryAttempts: Infinity,
  retry: (retries) => {
    setConnection('lost');
    return new Promise((resolve) => setTimeout(resolve, retryAfter(retries)));
  },
  on: { connected: () => setConnection('open') },
});

export const client = new Client({
  url: '/graphql',
  preferGetMethod: false,
  requestPolicy: 'network-only',
  fetchOptions: () => ({ headers: authorization(), credentials: 'same-origin' }),
  exchanges: [
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: ({ query, variables }) => ({
        subscribe: (sink) => ({
          unsubscribe: events.subscribe({ query: query ?? '', variables: variables as Record<string, unknown> }, sink as never),
        }),
      }),
    }),
  ],
});
