import { DOC_EXPLORER_PLUGIN, DocExplorerStore } from '@graphiql/plugin-doc-explorer';
import { HISTORY_PLUGIN, HistoryStore } from '@graphiql/plugin-history';
import { GraphiQLProvider } from '@graphiql/react';
import { GraphiQL, GraphiQLInterface } from 'graphiql';
import { getOperationAST, OperationTypeNode, parse } from 'graphql';

import { queries } from './queries/index.js';
import { follow, send } from './session.js';
import { TopBar } from './top-bar.jsx';

function isSubscription({ query, operationName }) {
  try {
    return getOperationAST(parse(query), operationName)?.operation === OperationTypeNode.SUBSCRIPTION;
  } catch {
    return false; // The server says what is wrong with it.
  }
}

async function fetcher(params, options) {
  if (isSubscription(params)) return follow(params, options?.headers);
  const { body } = await send(params, options?.headers);
  return body;
}

const plugins = [DOC_EXPLORER_PLUGIN, HISTORY_PLUGIN];

// A first visit opens the first query; later visits find their own tabs again.
const firstTabs = queries.slice(0, 1).map(({ text }) => ({ query: text }));

export function App() {
  return (
    <GraphiQLProvider
      fetcher={fetcher}
      plugins={plugins}
      referencePlugin={DOC_EXPLORER_PLUGIN}
      visiblePlugin={DOC_EXPLORER_PLUGIN}
      defaultTabs={firstTabs}
      schemaDescription
      shouldPersistHeaders={false}
    >
      <HistoryStore>
        <DocExplorerStore>
          <TopBar />
          <GraphiQLInterface showPersistHeadersSettings={false}>
            <GraphiQL.Logo>
              <span className="graphiql-logo-link">GraphiQL</span>
            </GraphiQL.Logo>
          </GraphiQLInterface>
        </DocExplorerStore>
      </HistoryStore>
    </GraphiQLProvider>
  );
}
