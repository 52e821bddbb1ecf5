// What GraphiQL leaves out, done from outside with its actions.

import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { useEffect, useLayoutEffect, useRef, useSyncExternalStore } from 'react';

import { live } from './live/store';
import { getSession, subscribe } from './session';

const useActiveTab = () => useGraphiQL((state) => state.tabs[state.activeTabIndex]?.id ?? '');

// useRunEndsWithItsTab stops what runs when another tab is shown. GraphiQL does so for a tab that is changed or closed
// and not for one that is added: a subscription went on, wrote its events into the new tab's response, and the new tab's
// first Run only stopped it.
export function useRunEndsWithItsTab() {
  const tab = useActiveTab();
  const tabs = useGraphiQL((state) => state.tabs);
  const { stop } = useGraphiQLActions();
  useLayoutEffect(() => stop(), [tab, stop]);
  useLayoutEffect(() => live.open(tab, tabs.map(({ id }) => id)), [tab, tabs]);
}

const refused = (response: string | null | undefined) => /"code":\s*"UNAUTHENTICATED"/.test(response ?? '');

// useRefusalsCleared takes answers of the time before signing in off the screen, in each tab once it is shown: they say
// what is not true any more.
export function useRefusalsCleared() {
  const tab = useActiveTab();
  const tabs = useGraphiQL((state) => state.tabs);
  const responseEditor = useGraphiQL((state) => state.responseEditor);
  const { updateActiveTabValues } = useGraphiQLActions();
  const { username } = useSyncExternalStore(subscribe, getSession);
  const outdated = useRef(new Set<string>());
  const signedIn = useRef(username !== null);

  useEffect(() => {
    if (username !== null && !signedIn.current) outdated.current = new Set(tabs.map(({ id }) => id));
    signedIn.current = username !== null;
    if (!outdated.current.delete(tab) || !refused(responseEditor?.getValue())) return;
    responseEditor?.setValue('');
    updateActiveTabValues({ response: null });
  }, [username, tab, tabs, responseEditor, updateActiveTabValues]);
}

// useWrappedLines wraps long lines in the editor, such as the comments of the ready-made queries.
export function useWrappedLines() {
  const queryEditor = useGraphiQL((state) => state.queryEditor);
  useEffect(() => queryEditor?.updateOptions({ wordWrap: 'on', wrappingIndent: 'indent' }), [queryEditor]);
}
