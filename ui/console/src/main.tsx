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
import { nonce, theme } from './app/theme.ts';

setNonce(nonce()); // For the style sheets of dialogs.

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={nonce} deduplicateInlineStyles>
      <Provider value={client}>
        <App />
      </Provider>
    </MantineProvider>
  </StrictMode>,
);
