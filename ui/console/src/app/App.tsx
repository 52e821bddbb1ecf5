import { Center, Loader } from '@mantine/core';
import { RouterProvider } from '@tanstack/react-router';
import { useCallback, useEffect, useState, type ReactElement } from 'react';
import { useClient } from 'urql';

import { graphql } from '../api/gql.ts';
import { keepRenewed, setToken } from '../api/session.ts';
import { SignIn, type Reason } from '../signin/SignIn.tsx';
import { router } from './router.tsx';
import { ViewerContext, type Viewer } from './viewer.ts';

const ViewerQuery = graphql(`
  query Viewer {
    viewer {
      username
      seesAllInstances
    }
  }
`);

type Known = { is: 'asking' } | { is: 'out'; reason?: Reason } | { is: 'in'; viewer: Viewer };

/** reasonOf is why a sign-in at the provider failed, as the server put it into the address. */
function reasonOf(): Reason | undefined {
  const url = new URL(window.location.href);
  const reason = url.searchParams.get('signin');
  if (reason === null) return undefined;
  url.searchParams.delete('signin');
  window.history.replaceState(null, '', url);
  return reason === 'denied' || reason === 'expired' || reason === 'refused' ? reason : 'unavailable';
}

/** App shows the pages to who is signed in, and the sign-in to everyone else. */
export function App(): ReactElement {
  const client = useClient();
  const [known, setKnown] = useState<Known>({ is: 'asking' });

  const ask = useCallback(
    async (whenOut?: Reason): Promise<void> => {
      const { data, error } = await client.query(ViewerQuery, {}).toPromise();
      if (data) {
        setKnown({ is: 'in', viewer: data.viewer });
        return;
      }
      const away = error?.networkError !== undefined && error.response === undefined;
      if (!away) setToken(null);
      const reason = away ? 'unreachable' : whenOut;
      setKnown(reason === undefined ? { is: 'out' } : { is: 'out', reason });
    },
    [client],
  );
  useEffect(() => void ask(reasonOf()), [ask]);
  useEffect(() => (known.is === 'in' ? keepRenewed(() => setKnown({ is: 'out', reason: 'ended' })) : undefined), [known.is]);

  if (known.is === 'asking') {
    return (
      <Center h="100vh">
        <Loader aria-label="Kairship" />
      </Center>
    );
  }
  if (known.is === 'out') return <SignIn {...(known.reason ? { reason: known.reason } : {})} signedIn={() => ask('wrong')} />;
  return (
    <ViewerContext value={{ ...known.viewer, signedOut: () => setKnown({ is: 'out' }) }}>
      <RouterProvider router={router} />
    </ViewerContext>
  );
}
