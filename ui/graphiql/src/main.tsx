import './workers';
import '@graphiql/react/style.css';
import '@graphiql/plugin-doc-explorer/style.css';
import '@graphiql/plugin-history/style.css';
import 'graphiql/graphiql.css';
import './style.css';
import './live/panel.css';

import { createRoot } from 'react-dom/client';

import { App } from './app';
import { getSession, signIn } from './session';

// A token that this tab kept over a reload is checked again before anything else is sent with it.
await signIn(getSession().token);

const root = document.getElementById('root');
if (root) createRoot(root).render(<App />);
