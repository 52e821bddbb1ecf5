// The session of this browser tab: the bearer token and whom the server says it
// belongs to. The token lives in sessionStorage alone, so it goes when the tab
// goes, and no other tab or later visitor of this browser finds it.

import { createClient } from 'graphql-sse';

const TOKEN_KEY = 'kairship.token';

const listeners = new Set();
let state = { token: sessionStorage.getItem(TOKEN_KEY) ?? '', username: null, error: null };

function update(change) {
  state = { ...state, ...change };
  listeners.forEach((listener) => listener());
}

export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const getSession = () => state;

// send posts one operation. Extra headers come from the editor's Headers tab;
// an Authorization header there goes before the token, for one-off tries.
export async function send(params, headers = {}, { token = state.token, signal } = {}) {
  const response = await fetch('/graphql', {
    method: 'POST',
    signal,
    headers: {
      Accept: 'application/graphql-response+json, application/json',
      'Content-Type': 'application/json',
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...headers,
    },
    body: JSON.stringify(params),
  });
  const body = await response.json().catch(() => ({
    errors: [{ message: `the server answered HTTP ${response.status} without a GraphQL response` }],
  }));
  return { status: response.status, body };
}

// follow runs one subscription, as server-sent events that fetch reads: unlike a
// browser's own EventSource and WebSocket, fetch can send the token in its header.
export function follow(params, headers = {}) {
  const client = createClient({
    url: '/graphql',
    headers: () => ({ ...(state.token ? { Authorization: `Bearer ${state.token}` } : {}), ...headers }),
  });
  return client.iterate(params);
}

// signIn asks the server whose token it is, and keeps it only when it is
// somebody's. Without a token it finds out whether the browser's client
// certificate is enough; that it is not is no error.
export async function signIn(token) {
  const { status, body } = await send({ query: 'query SignIn { viewer { username } }' }, {}, { token }).catch((error) => ({
    status: 0,
    body: { errors: [{ message: `the server cannot be reached: ${error.message}` }] },
  }));
  const username = body.data?.viewer?.username;
  if (!username) {
    const message = body.errors?.[0]?.message ?? `the server answered HTTP ${status}`;
    // A server that is away says nothing about the token: one that was kept stays.
    if (status === 401) signOut();
    update({ error: token ? message : null });
    return false;
  }
  if (token) sessionStorage.setItem(TOKEN_KEY, token);
  update({ token, username, error: null });
  return true;
}

export function signOut() {
  sessionStorage.removeItem(TOKEN_KEY);
  update({ token: '', username: null, error: null });
}
