import { Alert, Button, Code, Group, List, Text } from '@mantine/core';
import type { ReactElement } from 'react';
import type { CombinedError } from 'urql';

import { useT } from '../app/i18n.ts';

/** Problem shows what could not be read, in its place: all of it, or some parts beside those that are there. */
export function Problem({ error, part, retry }: { error: CombinedError | undefined; part?: boolean; retry?: () => void }): ReactElement | null {
  const t = useT();
  if (error === undefined) return null;
  const messages = error.networkError ? [t('problem.offline')] : [...new Set(error.graphQLErrors.map((e) => e.message))];
  const trace = error.graphQLErrors.map((e) => e.extensions['traceId']).find((id) => typeof id === 'string');
  return (
    <Alert color={part ? 'orange' : 'red'} variant="light" title={part ? t('problem.part') : t('problem.title')} role="alert" className="kairship-alert">
      {messages.length === 1 ? (
        <Text size="sm">{messages[0]}</Text>
      ) : (
        <List size="sm">
          {messages.slice(0, 5).map((message) => (
            <List.Item key={message}>{message}</List.Item>
          ))}
        </List>
      )}
      {(retry || trace) && (
        <Group gap="sm" mt="xs">
          {retry && (
            <Button size="compact-sm" variant="default" onClick={retry}>
              {t('problem.retry')}
            </Button>
          )}
          {trace && (
            <Text size="xs">
              {t('problem.trace')} <Code>{String(trace)}</Code>
            </Text>
          )}
        </Group>
      )}
    </Alert>
  );
}
