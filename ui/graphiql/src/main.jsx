import './workers.js';
import '@graphiql/react/style.css';
import '@graphiql/plugin-doc-explorer/style.css';
import '@graphiql/plugin-history/style.css';
import 'graphiql/graphiql.css';
import './style.css';

import { createRoot } from 'react-dom/client';

import { App } from './app.jsx';
import { getSession, signIn } from './session.js';

// A token that this tab kept over a reload is checked again before anything else is sent with it.
await signIn(getSession().token);

createRoot(document.getElementById('root')).render(<App />);
