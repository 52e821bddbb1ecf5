// Where GraphiQL keeps its tabs and its history. Documents stay in localStorage, for later visits. Variables and headers
// may hold a kubeconfig or a token, so they live in sessionStorage beside the token, and go with the session or the tab.

import type { Storage as GraphiQLStorage } from '@graphiql/toolkit';

const PREFIX = 'graphiql:';
const TABS = `${PREFIX}tabState`;
const HISTORY = [`${PREFIX}queries`, `${PREFIX}favorites`];

const isSecret = (name: string) => name === 'variables' || name === 'headers';

// split returns what of a value may outlive the session, or null where nothing may, and whether that is not all of it.
function split(key: string, value: string): { kept: string | null; secret: boolean } {
  if (isSecret(key.slice(PREFIX.length))) return { kept: null, secret: value !== '' };
  if (key !== TABS && !HISTORY.includes(key)) return { kept: value, secret: false };
  let secret = false;
  try {
    const kept = JSON.stringify(JSON.parse(value), (name, part: unknown) => {
      if (!isSecret(name)) return part;
      secret ||= Boolean(part);
      // A tab must have both; an item of the history has them or not.
      return key === TABS ? null : undefined;
    });
    return { kept, secret };
  } catch {
    return { kept: null, secret: true };
  }
}

const keysOf = (of: Storage) => Object.keys(of).filter((key) => key.startsWith(PREFIX));

function remember(key: string, value: string) {
  const { kept, secret } = split(key, value);
  if (kept === null) localStorage.removeItem(key);
  else localStorage.setItem(key, kept);
  if (secret) sessionStorage.setItem(key, value);
  else sessionStorage.removeItem(key);
}

export const storage: GraphiQLStorage = {
  getItem: (key) => sessionStorage.getItem(key) ?? localStorage.getItem(key),
  setItem: remember,
  removeItem(key) {
    sessionStorage.removeItem(key);
    localStorage.removeItem(key);
  },
  clear() {
    forgetSecrets();
    keysOf(localStorage).forEach((key) => localStorage.removeItem(key));
  },
  get length() {
    return new Set([...keysOf(sessionStorage), ...keysOf(localStorage)]).size;
  },
};

// forgetSecrets drops the variables and headers of all tabs and of the history.
export function forgetSecrets() {
  keysOf(sessionStorage).forEach((key) => sessionStorage.removeItem(key));
}

// Earlier versions of the page kept all of it in localStorage.
for (const key of keysOf(localStorage)) {
  const { kept, secret } = split(key, localStorage.getItem(key) ?? '');
  if (kept === null) localStorage.removeItem(key);
  else if (secret) localStorage.setItem(key, kept);
}
