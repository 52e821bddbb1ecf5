import { buildSubgraphSchema } from '@apollo/subgraph';
import { graphql, parse } from 'graphql';

import { body, listen } from './world.mjs';

// subgraph is one of the tests' own. What it is asked is kept in asked.
export function subgraph(name, sdl, resolvers) {
  const typeDefs = parse(sdl);
  const schema = buildSubgraphSchema({ typeDefs, resolvers });
  const asked = [];
  const serve = () => listen(async (request, response) => {
    const { query, variables, operationName } = JSON.parse(await body(request));
    asked.push({ query, variables });
    const result = await graphql({ schema, source: query, variableValues: variables, operationName });
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(result));
  });
  return { name, typeDefs, asked, serve };
}
