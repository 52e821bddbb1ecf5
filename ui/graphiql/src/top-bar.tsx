import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { Kind, type OperationDefinitionNode, parse } from 'graphql';
import { type ChangeEvent, type FormEvent, type RefObject, useEffect, useRef, useState, useSyncExternalStore } from 'react';

import icon from './kairship.svg';
import { type ReadyMade, readyMade } from './queries/index';
import { getSession, signIn, signOut, subscribe } from './session';

export function TopBar() {
  return (
    <header className="kairship-bar">
      <h1>
        <img src={icon} alt="" width="24" height="24" />
        Kairship
      </h1>
      <ReadyMadeQueries />
      <SignIn />
    </header>
  );
}

const reads = readyMade.filter(({ isMutation }) => !isMutation);
const changes = readyMade.filter(({ isMutation }) => isMutation);

function ReadyMadeQueries() {
  const { addTab, setOperationFacts, updateActiveTabValues } = useGraphiQLActions();
  const queryEditor = useGraphiQL((state) => state.queryEditor);

  function open(event: ChangeEvent<HTMLSelectElement>) {
    const query = readyMade.find(({ file }) => file === event.target.value);
    event.target.value = '';
    if (!query || !queryEditor) return;
    // What the current tab holds may be unfinished work: a query always opens in a tab of its own.
    addTab();
    queryEditor.setValue(query.text);
    // GraphiQL reads the document a moment later, and until then would run it under the last one's name.
    const documentAST = parse(query.text);
    const operations = documentAST.definitions.filter(
      (definition): definition is OperationDefinitionNode => definition.kind === Kind.OPERATION_DEFINITION,
    );
    const operationName = operations[0]?.name?.value ?? '';
    setOperationFacts({ documentAST, operations, operationName });
    updateActiveTabValues({ query: query.text, operationName });
    queryEditor.focus();
  }

  return (
    <select className="kairship-queries" aria-label="Ready-made queries" defaultValue="" onChange={open}>
      <option value="" disabled>
        Ready-made queries
      </option>
      <Options of={reads} />
      <optgroup label="Changes, as a dry run">
        <Options of={changes} />
      </optgroup>
    </select>
  );
}

const Options = ({ of }: { of: ReadyMade[] }) =>
  of.map(({ file, title, about }) => (
    <option key={file} value={file} title={about}>
      {title}
    </option>
  ));

function SignIn() {
  const { username, error } = useSyncExternalStore(subscribe, getSession);
  const { introspect } = useGraphiQLActions();
  const dialog = useRef<HTMLDialogElement>(null);

  // The schema is readable with a token only, so signing in is when it can be read.
  const wasSignedIn = useRef(username !== null);
  useEffect(() => {
    if (username !== null && !wasSignedIn.current) void introspect();
    wasSignedIn.current = username !== null;
  }, [username, introspect]);

  return (
    <div className="kairship-session" data-signed-in={username !== null}>
      <span role="status">
        {username === null ? 'Not signed in' : <>Signed in as <strong>{username}</strong></>}
      </span>
      {username === null ? (
        <button type="button" className="primary" onClick={() => dialog.current?.showModal()}>
          Sign in
        </button>
      ) : (
        <button type="button" onClick={leave}>
          Sign out
        </button>
      )}
      <TokenDialog dialog={dialog} error={error} />
    </div>
  );
}

// leave loads the page anew, so that answers that the token gave are removed from the screen too.
function leave() {
  signOut();
  location.reload();
}

function TokenDialog({ dialog, error }: { dialog: RefObject<HTMLDialogElement | null>; error: string | null }) {
  const [checking, setChecking] = useState(false);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    // People copy tokens with the line break of their terminal.
    const token = String(new FormData(form).get('token')).replace(/\s+/g, '');
    setChecking(true);
    const ok = await signIn(token);
    setChecking(false);
    if (ok) {
      form.reset();
      dialog.current?.close();
    }
  }

  return (
    <dialog ref={dialog} className="kairship-dialog" aria-labelledby="sign-in-title">
      <form onSubmit={submit}>
        <h2 id="sign-in-title">Sign in</h2>
        <p>
          Paste a bearer token of the global cluster. It stays in this browser tab, is sent to this server alone, and is
          forgotten when you sign out or close the tab.
        </p>
        <label>
          Bearer token
          <input name="token" type="password" autoComplete="off" spellCheck="false" required autoFocus />
        </label>
        {error && <p role="alert">{error}</p>}
        <footer>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={checking}>
            {checking ? 'Checking…' : 'Sign in'}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
