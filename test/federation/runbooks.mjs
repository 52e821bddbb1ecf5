// A third subgraph, which has something to say about two kinds of workloads alone, and
// needs to know nothing but the kind for it.
import { subgraph } from './subgraph.mjs';

const runbook = {
  __resolveReference: (representation) => representation,
  runbook: ({ __typename, instance, namespace, name }) => `https://runbooks.example.org/${instance.name}/${namespace}/${__typename}/${name}`,
};

export const runbooksSubgraph = subgraph('runbooks', `
  extend schema
    @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])

  type Instance @key(fields: "name", resolvable: false) {
    name: String!
  }

  type Deployment @key(fields: "instance { name } namespace name") {
    instance: Instance!
    namespace: String!
    name: String!
    runbook: String
  }

  type StatefulSet @key(fields: "instance { name } namespace name") {
    instance: Instance!
    namespace: String!
    name: String!
    runbook: String
  }
`, { Deployment: runbook, StatefulSet: runbook });
