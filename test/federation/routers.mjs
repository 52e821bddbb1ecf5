// Two routers over one supergraph, alike: both have Kairship and the subgraphs of the
// tests behind them, and pass on whose request it is.
import { composeServices } from '@apollo/composition';
import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime';
import { parse } from 'graphql';

import { runbooksSubgraph } from './runbooks.mjs';
import { teamsSubgraph } from './teams.mjs';
import { authorization, sdlOfKairship, watched } from './world.mjs';

const others = [teamsSubgraph, runbooksSubgraph];

// compose makes the supergraph, with more subgraphs where some are given. The URLs are
// by the names of the subgraphs.
export async function compose(urls = {}, more = []) {
  const kairship = { name: 'kairship', typeDefs: parse(await sdlOfKairship()) };
  return composeServices([kairship, ...others, ...more].map(({ name, typeDefs }) => ({
    name, typeDefs, url: urls[name] ?? `http://${name}.example.org/graphql`,
  })));
}

// supergraph serves the other subgraphs, and composes them with Kairship.
export async function supergraph() {
  const kairship = await watched();
  const serving = await Promise.all(others.map((one) => one.serve()));
  const urls = { kairship: kairship.url };
  others.forEach(({ name }, i) => { urls[name] = serving[i].url; });
  const { supergraphSdl, errors } = await compose(urls);
  if (errors) throw new AggregateError(errors, errors.join('\n'));
  return { supergraphSdl, kairship, close: () => Promise.all([kairship, ...serving].map((one) => one.close())) };
}

// What a router passes on from its clients: who they are, and what they have written.
const passedOn = ['authorization', 'kairship-consistency-token'];

class AsTheCaller extends RemoteGraphQLDataSource {
  willSendRequest({ request, context }) {
    for (const name of passedOn) {
      if (context[name]) request.http.headers.set(name, context[name]);
    }
  }
}

async function apollo(supergraphSdl) {
  const server = new ApolloServer({
    gateway: new ApolloGateway({ supergraphSdl, buildService: ({ url }) => new AsTheCaller({ url }) }),
    includeStacktraceInErrorResponses: false,
  });
  await server.start();
  return {
    async ask(person, query, variables, headers = {}) {
      const { body } = await server.executeOperation({ query, variables }, { contextValue: { authorization: authorization(person), ...headers } });
      return body.singleResult;
    },
    close: () => server.stop(),
  };
}

async function hive(supergraphSdl) {
  const gateway = createGatewayRuntime({
    supergraph: supergraphSdl,
    logging: false,
    propagateHeaders: {
      fromClientToSubgraphs: ({ request }) => Object.fromEntries(passedOn.map((name) => [name, request.headers.get(name) ?? undefined])),
    },
  });
  const send = (person, accept, query, variables, headers) => gateway.fetch('http://router.example.org/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: accept, ...(person && { Authorization: authorization(person) }), ...headers },
    body: JSON.stringify({ query, variables }),
  });
  return {
    ask: async (person, query, variables, headers) => (await send(person, 'application/json', query, variables, headers)).json(),
    // follow gives the results of a subscription, one after the other.
    async *follow(person, query, variables) {
      const { body } = await send(person, 'text/event-stream', query, variables);
      let text = '';
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
        const events = (text + chunk).split('\n\n');
        text = events.pop();
        for (const event of events) {
          const data = event.split('\n').find((line) => line.startsWith('data: {'));
          if (data) yield JSON.parse(data.slice('data: '.length));
        }
      }
    },
    close: () => gateway[Symbol.asyncDispose](),
  };
}

export const routers = { 'Apollo Gateway': apollo, 'Hive Gateway': hive };
