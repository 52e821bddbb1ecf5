import { graphql, type VariablesOf } from '../api/gql.ts';
import type { Filter } from './search.ts';

/** ChangeWorkloads tries or does one thing with all workloads of a filter. */
export const ChangeWorkloads = graphql(`
  mutation ChangeWorkloads($input: ChangeWorkloadsInput!) {
    changeWorkloads(input: $input) {
      fingerprint
      total
      changed
      failed
      skipped
      results {
        instanceName
        kind
        namespace
        name
        outcome
        error { message }
      }
    }
  }
`);

/** MayChange reads which instances the caller may change anything in. */
export const MayChange = graphql(`
  query MayChange {
    instances(first: 200) { nodes { name viewerCan { create } } }
  }
`);

type Input = VariablesOf<typeof ChangeWorkloads>['input'];
export type BulkAction = Input['action'];

export const bulkActions = ['RESTART', 'SCALE', 'SET_IMAGE', 'PAUSE', 'RESUME', 'LABEL', 'DELETE'] as const satisfies readonly BulkAction[];

/** Bulk is what a person chose. Labels are written key=value, and a key alone with a minus at its end is removed. */
export interface Bulk {
  action: BulkAction;
  replicas: number;
  container: string;
  image: string;
  labels: string[];
  maxFailedPercent: number;
}

/** inputOf is the mutation's input, without what the chosen action does not take. */
export function inputOf(filter: Filter, of: Bulk): Input {
  const input: Input = { filter, action: of.action, maxFailedPercent: of.maxFailedPercent };
  if (of.action === 'SCALE') input.replicas = of.replicas;
  if (of.action === 'SET_IMAGE') input.images = [{ container: of.container.trim(), image: of.image.trim() }];
  if (of.action === 'LABEL') {
    const removed = of.labels.filter((text) => text.endsWith('-') && !text.includes('='));
    input.labels = of.labels
      .filter((text) => !removed.includes(text))
      .map((text) => {
        const at = text.indexOf('=');
        return at < 0 ? { key: text, value: '' } : { key: text.slice(0, at), value: text.slice(at + 1) };
      });
    input.removeLabels = removed.map((text) => text.slice(0, -1));
  }
  return input;
}
