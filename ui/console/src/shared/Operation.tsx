import { Alert, Badge, Group, Loader, Stack, Text } from '@mantine/core';
import { useEffect, type ReactElement } from 'react';
import { useSubscription } from 'urql';

import { graphql } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Problem } from './Problem.tsx';

/** OperationProgress follows an operation until it is over. */
const OperationProgress = graphql(`
  subscription OperationProgress($operation: ID!) {
    operationProgress(operation: $operation) {
      state
      message
      steps { name state message done total }
    }
  }
`);

const colors = { PENDING: 'gray', RUNNING: 'blue', DONE: 'teal', FAILED: 'red' } as const;

/** Operation shows how far an operation has come, live. It goes on when the page is left. */
export function Operation({ id, done }: { id: string; done?: () => void }): ReactElement {
  const t = useT();
  const [{ data, error }] = useSubscription({ query: OperationProgress, variables: { operation: id } });
  const progress = data?.operationProgress;
  const state = progress?.state;
  useEffect(() => {
    if (state === 'SUCCEEDED') done?.();
    // Only the end of the operation is told, once.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [state]);
  return (
    <Stack gap="xs" component="section" aria-label={t('operation.title')} aria-live="polite">
      <Problem error={error} />
      {progress === undefined && error === undefined && <Loader size="sm" />}
      {progress?.steps.map((step) => (
        <Group key={step.name} gap="xs" wrap="nowrap" align="flex-start">
          <Badge className={`kairship-badge kairship-${colors[step.state]}`} variant="light" size="sm" radius="sm">
            {t(`operation.states.${step.state}`)}
          </Badge>
          <Text size="sm">
            {t(`operation.steps.${step.name}`)}
            {step.total > 1 && ` ${step.done}/${step.total}`}
            {step.message !== null && `: ${step.message}`}
          </Text>
        </Group>
      ))}
      {state === 'RUNNING' && (
        <Text size="sm" className="kairship-dimmed">
          {progress?.message ?? t('operation.continues')}
        </Text>
      )}
      {(state === 'SUCCEEDED' || state === 'FAILED') && (
        <Alert color={state === 'SUCCEEDED' ? 'teal' : 'red'} variant="light" className="kairship-alert" role="status">
          {state === 'SUCCEEDED' ? t('action.done') : progress?.message}
        </Alert>
      )}
    </Stack>
  );
}
