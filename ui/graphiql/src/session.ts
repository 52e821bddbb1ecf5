// The session of this browser tab: the bearer token and the user that the server
// knows by it. The token lives in sessionStorage alone, so it goes when the tab
// goes, and no other tab or later visitor of this browser finds it.

import { forgetSecrets } from './storage';

const TOKEN_KEY = 'kairship.token';

export interface Session {
  token: string;
  username: string | null;
  error: string | null;
}

export interface GraphQLAnswer {
  data?: Record<string, unknown> | null;
  errors?: readonly { message: string }[];
}

export interface Request {
  query: string;
  operationName?: string | null;
  variables?: Record<string, unknown>;
}

export type Headers = Record<string, string>;

const listeners = new Set<() => void>();
let state: Session = { token: sessionStorage.getItem(TOKEN_KEY) ?? '', username: null, error: null };

function update(change: Partial<Session>) {
  state = { ...state, ...change };
  listeners.forEach((listener) => listener());
}

export function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

export const getSession = () => state;

// headersWith returns the headers of a request: an Authorization header in the
// editor's Headers tab goes before the token, for one-off tries.
export const headersWith = (extra: Headers, token = state.token): Headers => ({
  ...(token ? { Authorization: `Bearer ${token}` } : {}),
  ...extra,
});

// answerOf reads the body of a response, which a server that is not Kairship may send without GraphQL in it.
export const answerOf = (response: Response): Promise<GraphQLAnswer> =>
  response.json().catch(() => ({
    errors: [{ message: `the server answered HTTP ${response.status} without a GraphQL response` }],
  }));

// send posts one operation.
export async function send(request: Request, headers: Headers, signal?: AbortSignal) {
  const response = await fetch('/graphql', {
    method: 'POST',
    signal: signal ?? null,
    headers: {
      Accept: 'application/graphql-response+json, application/json',
      'Content-Type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(request),
  });
  return { status: response.status, body: await answerOf(response) };
}

// signIn asks the server whose token it is, and keeps a token that it knows.
// Without a token it finds out whether the browser's client certificate is
// enough; that it is not is no error.
export async function signIn(token: string): Promise<boolean> {
  const { status, body } = await send({ query: 'query SignIn { viewer { username } }' }, headersWith({}, token)).catch(
    (error: unknown) => ({
      status: 0,
      body: { errors: [{ message: `the server cannot be reached: ${String(error)}` }] } as GraphQLAnswer,
    }),
  );
  const viewer = body.data?.viewer as { username: string } | undefined;
  if (!viewer) {
    const message = body.errors?.[0]?.message ?? `the server answered HTTP ${status}`;
    // A server that is away says nothing about the token: one that was kept stays.
    if (status === 401) signOut();
    update({ error: token ? message : null });
    return false;
  }
  if (token) sessionStorage.setItem(TOKEN_KEY, token);
  update({ token, username: viewer.username, error: null });
  return true;
}

// signOut forgets the token, and what was entered with it.
export function signOut() {
  sessionStorage.removeItem(TOKEN_KEY);
  forgetSecrets();
  update({ token: '', username: null, error: null });
}
