import { Alert, Badge, Button, Group, Loader, Stack, Text } from '@mantine/core';
import { useEffect, useState, type ReactElement } from 'react';
import { useSubscription, type CombinedError } from 'urql';

import { graphql, type ResultOf } from '../api/gql.ts';
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

type Step = ResultOf<typeof OperationProgress>['operationProgress']['steps'][number];

/** Cancel takes an operation back, which can be done until one of its steps is done. */
export interface Cancel {
  until: Step['name'];
  run: () => Promise<CombinedError | undefined>;
}

const colors = { PENDING: 'gray', RUNNING: 'blue', DONE: 'teal', FAILED: 'red' } as const;

/** Operation shows how far an operation has come, live. It goes on when the page is left. */
export function Operation({ id, done, cancel }: { id: string; done?: () => void; cancel?: Cancel | undefined }): ReactElement {
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
      {state === 'RUNNING' && cancel && progress?.steps.some((step) => step.name === cancel.until && step.state !== 'DONE') && <CancelButton run={cancel.run} />}
      {(state === 'SUCCEEDED' || state === 'FAILED') && (
        <Alert color={state === 'SUCCEEDED' ? 'teal' : 'red'} variant="light" className="kairship-alert" role="status">
          {state === 'SUCCEEDED' ? t('action.done') : progress?.message}
        </Alert>
      )}
    </Stack>
  );
}

function CancelButton({ run }: Pick<Cancel, 'run'>): ReactElement {
  const t = useT();
  const [asked, setAsked] = useState<{ error?: CombinedError | undefined }>();
  const [busy, setBusy] = useState(false);
  const cancel = async (): Promise<void> => {
    setBusy(true);
    setAsked({ error: await run() });
    setBusy(false);
  };
  return (
    <>
      <Problem error={asked?.error} />
      <Group>
        <Button variant="default" size="xs" loading={busy} disabled={asked !== undefined && asked.error === undefined} onClick={() => void cancel()}>
          {t('operation.cancel')}
        </Button>
      </Group>
    </>
  );
}
