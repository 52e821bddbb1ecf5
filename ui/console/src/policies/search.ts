/** PoliciesSearch is the state of the list that the address has. */
export interface PoliciesSearch {
  instance?: string | undefined;
  text?: string | undefined;
  show?: 'propagation' | 'override' | undefined;
}

/** readPoliciesSearch reads the address, and leaves out what it does not know. */
export function readPoliciesSearch(raw: Record<string, unknown>): PoliciesSearch {
  const { instance, text, show } = raw;
  return {
    ...(typeof instance === 'string' && instance !== '' ? { instance } : {}),
    ...(typeof text === 'string' && text !== '' ? { text } : typeof text === 'number' ? { text: String(text) } : {}),
    ...(show === 'propagation' || show === 'override' ? { show } : {}),
  };
}
