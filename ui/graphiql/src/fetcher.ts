// How the page runs operations. GraphiQL gets an Observable of each, also of
// queries: unsubscribing ends the request, and no result of a request that was
// stopped arrives later, under another query.

import type { Fetcher } from '@graphiql/toolkit';
import { createClient } from 'graphql-sse';
import { getOperationAST, Kind, OperationTypeNode, parse } from 'graphql';

import { live } from './live/store';
import { answerOf, type GraphQLAnswer, type Headers, headersWith, type Request, send } from './session';

interface Sink {
  next: (result: GraphQLAnswer) => void;
  error: (error: unknown) => void;
  complete: () => void;
}

const INTROSPECTION = 'IntrospectionQuery';

function typeOf({ query, operationName }: Request): OperationTypeNode | undefined {
  try {
    return getOperationAST(parse(query), operationName)?.operation;
  } catch {
    return undefined; // The server says what is wrong with it.
  }
}

// named takes the name of an operation off a request whose document has none of that name. GraphiQL reads the names of a
// document a moment after it changed, so a Run right after the change of a tab carried the name of the tab before.
function named(request: Request): Request {
  if (!request.operationName) return request;
  try {
    const known = parse(request.query).definitions.some(
      (one) => one.kind === Kind.OPERATION_DEFINITION && one.name?.value === request.operationName,
    );
    return known ? request : { ...request, operationName: null };
  } catch {
    return request; // The server says what is wrong with it.
  }
}

// post runs a query or a mutation and returns how to stop it. A mutation that was sent is finished, also when its result
// is not shown any more: half of one is worse.
function post(request: Request, headers: Headers, sink: Sink): () => void {
  const control = new AbortController();
  let over = false;
  send(request, headersWith(headers), control.signal)
    .then(({ body }) => {
      if (over) return;
      sink.next(body);
      sink.complete();
    })
    .catch((error: unknown) => {
      if (!over) sink.error(error);
    });
  return () => {
    over = true;
    if (typeOf(request) !== OperationTypeNode.MUTATION) control.abort();
  };
}

// follow runs a subscription, as server-sent events that fetch reads: unlike a
// browser's own EventSource and WebSocket, fetch can send the token in its header.
function follow(request: Request, headers: Headers, sink: Sink): () => void {
  const run = live.begin();
  let over = false;
  let shown = false;
  // show hands a result to GraphiQL's response editor, which the log of events hides: the first one, for it to know
  // that something came.
  const show = (result: GraphQLAnswer) => {
    if (!shown) sink.next(result);
    shown = true;
  };
  const end = (finish: () => void) => {
    if (over) return;
    over = true;
    finish();
  };
  const client = createClient({
    url: '/graphql',
    headers: () => headersWith(headers),
    on: { connecting: (again) => again && run.reconnecting() },
    // The client tries again after every status. Only a server that is away or busy may answer otherwise next time.
    fetchFn: async (...args: Parameters<typeof fetch>) => {
      const response = await fetch(...args);
      if (response.ok || response.status === 429 || response.status >= 500) return response;
      const refusal = await answerOf(response);
      end(() => {
        run.fail(refusal);
        sink.next(refusal);
        sink.complete();
      });
      dispose();
      return response;
    },
  });
  const dispose = client.subscribe<Record<string, unknown>>(request as Parameters<typeof client.subscribe>[0], {
    next(result) {
      if (over) return;
      run.push(result);
      show(result);
    },
    error(error) {
      end(() => {
        run.fail({ errors: [{ message: error instanceof Error ? error.message : 'the stream ended with an error' }] });
        sink.error(error);
      });
    },
    complete() {
      end(() => {
        run.end('ended');
        sink.complete();
      });
    },
  });
  return () => {
    end(() => run.end('stopped'));
    dispose();
  };
}

export const fetcher: Fetcher = (params, options) => {
  const request = named(params as Request);
  const headers = (options?.headers ?? {}) as Headers;
  return {
    subscribe(sink: unknown) {
      let begin = post;
      if (typeOf(request) === OperationTypeNode.SUBSCRIPTION) begin = follow;
      else if (request.operationName !== INTROSPECTION) live.clear();
      return { unsubscribe: begin(request, headers, sink as Sink) };
    },
  };
};
