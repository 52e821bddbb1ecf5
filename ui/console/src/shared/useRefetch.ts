import { useCallback, useEffect, useRef } from 'react';

/** pause is the least time between two questions that changes lead to, in milliseconds. */
const pause = 1500;

/** useRefetch returns what asks again soon, once for all changes of a moment. */
export function useRefetch(refetch: () => void): () => void {
  const timer = useRef(0);
  const latest = useRef(refetch);
  latest.current = refetch;
  useEffect(() => () => window.clearTimeout(timer.current), []);
  return useCallback(() => {
    if (timer.current !== 0) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      latest.current();
    }, pause);
  }, []);
}
