// Who is signed in. A person who signed in at the provider has a cookie, which no script reads; a token that was pasted stays in this
// tab.
const tokenKey = 'kairship.token';
const renewLock = 'kairship.renew';
/** renewBefore is how long before its end a session is renewed, in milliseconds. */
const renewBefore = 60_000;

export interface SessionState {
  /** signIn is where people sign in; empty without a provider. */
  signIn: string;
  expiresAt: string | null;
  endsAt: string | null;
}

export function token(): string | null {
  return sessionStorage.getItem(tokenKey);
}

export function setToken(value: string | null): void {
  if (value === null) sessionStorage.removeItem(tokenKey);
  else sessionStorage.setItem(tokenKey, value);
}

/** authorization is the header of requests; none for who signed in at the provider. */
export function authorization(): Record<string, string> {
  const value = token();
  return value === null ? {} : { Authorization: `Bearer ${value}` };
}

/** sessionState asks the server; null where it does not answer. */
export async function sessionState(): Promise<SessionState | null> {
  try {
    const response = await fetch('/session', { headers: { Accept: 'application/json' } });
    return response.ok ? ((await response.json()) as SessionState) : null;
  } catch {
    return null;
  }
}

async function post(path: string, body: object): Promise<Response> {
  return fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
}

/** renew renews the session, in one tab for all: many providers take a refresh token once. False means that it is over. */
export async function renew(): Promise<boolean> {
  return navigator.locks.request(renewLock, async () => {
    const state = await sessionState();
    if (state === null) return true; // The server is away, and the session may be good.
    if (state.expiresAt === null) return false;
    if (Date.parse(state.expiresAt) - Date.now() > renewBefore) return true; // Another tab did it.
    const response = await post('/session/renew', {}).catch(() => null);
    return response === null || response.status !== 401;
  });
}

/** keepRenewed renews the session for as long as the page is open, and calls ended when it is over. */
export function keepRenewed(ended: () => void): () => void {
  let timer = 0;
  const look = async (): Promise<void> => {
    const state = token() === null ? await sessionState() : null;
    let wait = renewBefore / 2;
    if (state?.expiresAt) {
      const left = Date.parse(state.expiresAt) - Date.now() - renewBefore / 2;
      if (left <= 0 && !(await renew())) {
        ended();
        return;
      }
      wait = Math.max(1000, Math.min(left, renewBefore));
    }
    timer = window.setTimeout(() => void look(), wait);
  };
  void look();
  return () => window.clearTimeout(timer);
}

/** signOut ends the session, and returns where the provider's own is ended; empty where there is none. */
export async function signOut(everywhere: boolean): Promise<string> {
  const pasted = token() !== null;
  setToken(null);
  if (pasted) return '';
  const response = await post('/session/signout', { everywhere });
  if (!response.ok) return '';
  return ((await response.json()) as { continueAt: string }).continueAt;
}
