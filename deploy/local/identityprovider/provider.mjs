// The OpenID Connect provider of the fleet on one machine: oidc-provider with the fleet's people, who sign in with
// the passwords that the fleet made for them. Everything is in memory, so that a restart ends all sessions.
//
// node provider.mjs --port N --cert FILE --key FILE --passwords FOLDER --client ID --redirect URL ... --home URL ...
import { createHash, generateKeyPairSync, randomUUID, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Provider } from 'oidc-provider';

const { values: options } = parseArgs({
  options: {
    port: { type: 'string' },
    cert: { type: 'string' },
    key: { type: 'string' },
    passwords: { type: 'string' },
    client: { type: 'string' },
    redirect: { type: 'string', multiple: true },
    home: { type: 'string', multiple: true },
    // How long a token is good for, in seconds.
    'token-life': { type: 'string', default: '300' },
  },
});
const life = Number(options['token-life']);
const issuer = `https://127.0.0.1:${options.port}`;

// A key of its own: that which the library has otherwise is known to everyone.
const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...key, kid: randomUUID(), use: 'sig', alg: 'RS256' }] },
  clients: [
    {
      client_id: options.client,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: options.redirect,
      post_logout_redirect_uris: options.home,
    },
  ],
  claims: { openid: ['sub'], profile: ['preferred_username'] },
  // Kubernetes reads the ID token alone.
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id }) }),
  features: {
    devInteractions: { enabled: false },
    revocation: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (ctx, form) => send(ctx, 200, page('Sign out', `${form}<button form="op.logoutForm" name="logout" value="yes">Sign out here too</button>`)),
      postLogoutSuccessSource: (ctx) => send(ctx, 200, page('Signed out', '<p>You are signed out.</p>')),
    },
  },
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  pkce: { required: () => true },
  ttl: { IdToken: life, AccessToken: life, RefreshToken: 24 * 3600, Session: 24 * 3600, Grant: 24 * 3600, Interaction: 600, AuthorizationCode: 60 },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  cookies: { keys: [createHash('sha256').update(readFileSync(options.key)).digest('hex')] },
});

/** page is a page with a form; it has no script. */
function page(title, body) {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>body{font:16px system-ui;max-width:20rem;margin:4rem auto;padding:0 1rem}input,button{font:inherit;display:block;width:100%;box-sizing:border-box;margin:.25rem 0 1rem;padding:.5rem}</style>
<main><h1>${title}</h1>${body}</main></html>`;
}

function send(ctx, status, html) {
  ctx.status = status;
  ctx.type = 'html';
  ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
  ctx.set('Cache-Control', 'no-store');
  ctx.body = html;
}

/** passwordIs compares a person's password in constant time. */
function passwordIs(person, password) {
  if (!/^[a-z]+$/.test(person)) return false;
  let expected;
  try {
    expected = readFileSync(join(options.passwords, person), 'utf8').trim();
  } catch {
    return false;
  }
  const hash = (text) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(expected), hash(password));
}

/** form reads the fields of a form that was posted. */
async function form(request) {
  let text = '';
  for await (const chunk of request) {
    text += chunk;
    if (text.length > 4096) throw new Error('the form is too large');
  }
  return new URLSearchParams(text);
}

async function interaction(ctx) {
  const { prompt, params, session } = await provider.interactionDetails(ctx.req, ctx.res);
  if (prompt.name === 'consent') {
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    await provider.interactionFinished(ctx.req, ctx.res, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
    ctx.respond = false;
    return;
  }
  let problem = '';
  if (ctx.method === 'POST') {
    const fields = await form(ctx.req);
    const person = fields.get('person') ?? '';
    if (passwordIs(person, fields.get('password') ?? '')) {
      await provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: person } }, { mergeWithLastSubmission: false });
      ctx.respond = false;
      return;
    }
    problem = '<p role="alert">The name or the password is wrong.</p>';
  }
  send(ctx, problem ? 401 : 200, page('Sign in', `${problem}<form method="post">
<label>Name <input name="person" autocomplete="username" autofocus required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button></form>`));
}

provider.use(async (ctx, next) => {
  if (ctx.path.startsWith('/interaction/')) {
    await interaction(ctx);
    return;
  }
  await next();
});
provider.on('server_error', (_, error) => console.error(error));

const server = createServer({ cert: readFileSync(options.cert), key: readFileSync(options.key) }, provider.callback());
server.listen(Number(options.port), '127.0.0.1', () => console.log(`serving ${issuer}`));
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.on(signal, () => {
    server.closeAllConnections();
    server.close(() => process.exit(0));
  });
}
