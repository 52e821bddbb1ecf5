import { useMemo } from 'react';

/** useVersion has a query be sent again when a version changes. */
export function useVersion(version: string): { requestPolicy: 'network-only'; version: string } {
  return useMemo(() => ({ requestPolicy: 'network-only', version }), [version]);
}
