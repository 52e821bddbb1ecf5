import '@mantine/core/styles.css';
import '@xyflow/react/dist/base.css';
import './app/style.css';

import { MantineProvider } from '@mantine/core';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider } from 'urql';

import { client } from './api/client.ts';
import { App } from './app/App.tsx';
import { spoken } from './app/i18n.ts';
import { nonce, theme } from './app/theme.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');

setNonce(nonce()); // What keeps the page from scrolling below a dialog makes a style sheet of its own.

const app = (
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={nonce} deduplicateInlineStyles>
      <Provider value={client}>
        <App />
      </Provider>
    </MantineProvider>
  </StrictMode>
);
void spoken.then(() => createRoot(root).render(app));
