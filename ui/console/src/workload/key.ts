import type { VariablesOf } from '../api/gql.ts';
import type { WorkloadQuery } from './queries.ts';

/** Key names one workload, as the variables of its queries. */
export type Key = VariablesOf<typeof WorkloadQuery>;
