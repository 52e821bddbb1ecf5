import { DOC_EXPLORER_PLUGIN, DocExplorerStore } from '@graphiql/plugin-doc-explorer';
import { HISTORY_PLUGIN, HistoryStore } from '@graphiql/plugin-history';
import { GraphiQLProvider } from '@graphiql/react';
import { GraphiQL, GraphiQLInterface } from 'graphiql';

import { fetcher } from './fetcher';
import { LivePanel } from './live/panel';
import { readyMade } from './queries/index';
import { storage } from './storage';
import { TopBar } from './top-bar';
import { useRefusalsCleared, useRunEndsWithItsTab, useWrappedLines } from './workarounds';

const plugins = [DOC_EXPLORER_PLUGIN, HISTORY_PLUGIN];

// A first visit opens the first query; later visits find their own tabs again, without variables.
const firstTabs = readyMade.slice(0, 1).map(({ text }) => ({ query: text }));

export function App() {
  return (
    <GraphiQLProvider
      fetcher={fetcher}
      storage={storage}
      plugins={plugins}
      referencePlugin={DOC_EXPLORER_PLUGIN}
      visiblePlugin={DOC_EXPLORER_PLUGIN}
      defaultTabs={firstTabs}
      schemaDescription
      inputValueDeprecation
      shouldPersistHeaders={false}
    >
      <HistoryStore>
        <DocExplorerStore>
          <Workarounds />
          <TopBar />
          <GraphiQLInterface showPersistHeadersSettings={false}>
            <GraphiQL.Logo>
              <span className="graphiql-logo-link">GraphiQL</span>
            </GraphiQL.Logo>
            <GraphiQL.Footer>
              <LivePanel />
            </GraphiQL.Footer>
          </GraphiQLInterface>
        </DocExplorerStore>
      </HistoryStore>
    </GraphiQLProvider>
  );
}

function Workarounds() {
  useRunEndsWithItsTab();
  useRefusalsCleared();
  useWrappedLines();
  return null;
}
