import { Button, Code, Skeleton, Stack, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { Problem } from '../shared/Problem.tsx';
import type { Key } from './key.ts';
import { LastWordsQuery } from './queries.ts';

interface Props {
  of: Key;
  clusterName: string;
  pod: string;
}

/** LastWords shows what a pod that crashes wrote before it ended, once it is asked for: its member is read for it. */
export function LastWords(props: Props): ReactElement {
  const t = useT();
  const [asked, setAsked] = useState(false);
  if (asked) return <Words {...props} />;
  return (
    <Button size="compact-xs" variant="default" mt={4} onClick={() => setAsked(true)}>
      {t('workload.lastWords')}
    </Button>
  );
}

function Words({ of, clusterName, pod }: Props): ReactElement {
  const t = useT();
  const [{ data, error, fetching }, execute] = useQuery({ query: LastWordsQuery, variables: of, requestPolicy: 'network-only' });
  if (fetching) return <Skeleton h={60} mt={4} />;
  const reasons = data?.instance?.workload?.explanation?.steps.flatMap((step) => step.reasons) ?? [];
  const logs = reasons.find((r) => r.pod?.name === pod && r.pod.clusterName === clusterName)?.pod?.logs;
  return (
    <Stack gap={4} mt={4}>
      <Problem error={error} retry={() => execute()} />
      {logs?.omitted.map((o) => (
        <Text key={o.containerName} size="xs" className="kairship-dimmed">
          {o.containerName}: {o.message}
        </Text>
      ))}
      {logs && logs.lines.length > 0 && (
        <Code block className="kairship-log" tabIndex={0} aria-label={t('workload.lastWords')}>
          {logs.lines.map((l) => `${l.containerName}  ${l.line}`).join('\n')}
        </Code>
      )}
      {!error && logs?.lines.length === 0 && logs.omitted.length === 0 && (
        <Text size="xs" className="kairship-dimmed">
          {t('workload.noLogs')}
        </Text>
      )}
    </Stack>
  );
}
