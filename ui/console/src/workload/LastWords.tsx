import { Button, Code, Skeleton, Stack, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useQuery } from 'urql';

import type { ResultOf } from '../api/gql.ts';
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

function Words({ of, clusterName, pod: name }: Props): ReactElement {
  const t = useT();
  const [{ data, error, fetching }, execute] = useQuery({ query: LastWordsQuery, variables: of, requestPolicy: 'network-only' });
  if (fetching) return <Skeleton h={60} mt={4} />;
  const pod = podsOf(data).find((p) => p.name === name && p.clusterName === clusterName);
  const words = pod && lastWords(pod);
  return (
    <Stack gap={4} mt={4}>
      <Problem error={error} retry={() => execute()} />
      {words?.omitted.map((o) => (
        <Text key={o.containerName} size="xs" className="kairship-dimmed">
          {o.containerName}: {o.message}
        </Text>
      ))}
      {words && words.lines.length > 0 && (
        <Code block className="kairship-log" tabIndex={0} aria-label={t('workload.lastWords')}>
          {words.lines.map((l) => `${l.containerName}  ${l.line}`).join('\n')}
        </Code>
      )}
      {!error && !words?.lines.length && !words?.omitted.length && (
        <Text size="xs" className="kairship-dimmed">
          {t('workload.noLogs')}
        </Text>
      )}
    </Stack>
  );
}

function podsOf(data: ResultOf<typeof LastWordsQuery> | undefined) {
  const steps = data?.instance?.workload?.explanation?.steps ?? [];
  return steps.flatMap((step) => step.reasons.flatMap((reason) => reason.pod ?? []));
}

/**
 * lastWords are of the run that ended last, of each container that failed or was started again. A node keeps that of a container which does not run as its
 * present one, and often nothing of the run before.
 */
function lastWords(pod: ReturnType<typeof podsOf>[number]): (typeof pod)['now'] {
  const ended = pod.containers.filter((c) => c.lastTermination !== null || (c.termination !== null && c.termination.exitCode !== 0));
  const of = ended.map((c) => ({ container: c.name, run: c.state === 'RUNNING' ? pod.before : pod.now }));
  return {
    lines: of.flatMap(({ container, run }) => run.lines.filter((l) => l.containerName === container)),
    omitted: of.flatMap(({ container, run }) => run.omitted.filter((o) => o.containerName === container)),
  };
}
