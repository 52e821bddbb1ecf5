// A subgraph beside Kairship: who is responsible for what, and what it costs. It knows
// Kairship's objects by their names, and nothing else of them.
import { subgraph } from './subgraph.mjs';

const sdl = `
  extend schema
    @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable", "@interfaceObject"])

  type Query {
    teams(first: Int, after: String): TeamConnection!
    team(name: String!): Team
  }

  type TeamConnection {
    nodes: [Team!]!
    pageInfo: PageInfo!
  }

  "As in Kairship: what is shared has to be the same."
  type PageInfo @shareable {
    hasNextPage: Boolean!
    hasPreviousPage: Boolean!
    startCursor: String
    endCursor: String
  }

  type Team @key(fields: "name") {
    name: String!
    "Null stands for one that is gone, or that the caller may not see."
    instances: [Instance]!
    workloads: [Workload]!
    clusters: [Cluster]!
  }

  type Instance @key(fields: "name") {
    name: String!
    costCenter: String
    team: Team
  }

  "Named here, and nothing is added to it."
  type Cluster @key(fields: "name", resolvable: false) {
    name: String!
  }

  "Workloads of all kinds get the fields of this type."
  type Workload @key(fields: "instance { name } kind namespace name") @interfaceObject {
    instance: Instance!
    kind: WorkloadKind!
    namespace: String!
    name: String!
    onCall: String
  }

  enum WorkloadKind { DEPLOYMENT STATEFUL_SET DAEMON_SET JOB CRON_JOB CUSTOM }

  "Policies of all kinds, by their IDs."
  type Policy @key(fields: "id") @interfaceObject {
    id: ID!
    reviewedBy: Team
  }

  type Namespace @key(fields: "instance { name } name") {
    instance: Instance!
    name: String!
    team: Team
  }
`;

const workload = (instance, kind, namespace, name) => ({ instance: { name: instance }, kind, namespace, name });

// many is how many workloads the team everything thinks it has.
export const many = 50;

const real = [
  workload('alpha', 'DEPLOYMENT', 'shop', 'frontend'),
  workload('alpha', 'STATEFUL_SET', 'shop', 'cart'),
  workload('alpha', 'DAEMON_SET', 'ops', 'agent'),
  workload('alpha', 'CRON_JOB', 'ops', 'report'),
  workload('beta', 'DEPLOYMENT', 'billing', 'api'),
];

const teams = {
  storefront: {
    name: 'storefront',
    instances: [{ name: 'alpha' }],
    workloads: real.slice(0, 2),
    clusters: [{ name: 'm1' }, { name: 'm2' }],
  },
  ledgers: {
    name: 'ledgers',
    instances: [{ name: 'beta' }, { name: 'long-gone' }],
    workloads: [real[4], workload('beta', 'DEPLOYMENT', 'billing', 'long-gone')],
    clusters: [{ name: 'm3' }],
  },
  everything: {
    name: 'everything',
    instances: [],
    workloads: Array.from({ length: many }, (_, i) => real[i] ?? workload('alpha', 'DEPLOYMENT', 'shop', `gone-${i}`)),
    clusters: [],
  },
};

const teamOf = { shop: teams.storefront, billing: teams.ledgers };

const instance = {
  __resolveReference: ({ name }) => ({ name }),
  costCenter: ({ name }) => ({ alpha: 'CC-100', beta: 'CC-200' })[name],
  team: ({ name }) => ({ alpha: teams.storefront, beta: teams.ledgers })[name],
};

export const teamsSubgraph = subgraph('teams', sdl, {
  Query: {
    teams: () => ({ nodes: Object.values(teams), pageInfo: { hasNextPage: false, hasPreviousPage: false } }),
    team: (_, { name }) => teams[name],
  },
  Team: { __resolveReference: ({ name }) => teams[name] },
  Instance: instance,
  Workload: {
    __resolveReference: (representation) => representation,
    onCall: ({ namespace, name }) => `${namespace}-${name}@example.org`,
  },
  Policy: {
    __resolveReference: ({ id }) => ({ id }),
    reviewedBy: () => teams.storefront,
  },
  Namespace: {
    __resolveReference: (representation) => representation,
    team: ({ name }) => teamOf[name],
  },
});
