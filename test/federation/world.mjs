// The fleet that the tests run against. From the environment:
//   KAIRSHIP_URL         a running Kairship (http://127.0.0.1:8080)
//   KAIRSHIP_TOKEN_FILE  the administrator's token; those of the other people are beside it
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

export const kairshipURL = process.env.KAIRSHIP_URL ?? 'http://127.0.0.1:8080';

const tokens = path.dirname(process.env.KAIRSHIP_TOKEN_FILE ?? '../../.local/tokens/admin');

// authorization is the header of a person; undefined for none.
export function authorization(person) {
  return person && `Bearer ${fs.readFileSync(path.join(tokens, person), 'utf8').trim()}`;
}

// sdlOfKairship is what it tells the composer of a supergraph.
export async function sdlOfKairship() {
  const response = await fetch(`${kairshipURL}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: authorization('admin') },
    body: JSON.stringify({ query: '{ _service { sdl } }' }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
  return data._service.sdl;
}

// listen serves on a port of its own.
export async function listen(handler) {
  const server = http.createServer(handler);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/graphql`,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}

// body reads all that a server sends.
export async function body(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

// watched stands between the routers and Kairship, and keeps what it is asked.
export async function watched() {
  const asked = [];
  const server = await listen(async (request, response) => {
    const text = await body(request);
    const { search, searchParams } = new URL(request.url, kairshipURL);
    asked.push({ headers: request.headers, ...(text ? JSON.parse(text) : Object.fromEntries(searchParams)) });
    const headers = { ...request.headers, host: new URL(kairshipURL).host };
    const onward = http.request(`${kairshipURL}/graphql${search}`, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.end(text);
  });
  return {
    ...server,
    asked,
    // during is what is asked while something is done.
    async during(something) {
      const from = asked.length;
      const result = await something();
      return [result, asked.slice(from)];
    },
  };
}
