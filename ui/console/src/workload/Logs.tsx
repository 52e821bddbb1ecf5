import { Button, Code, Group, Paper, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useMemo, useRef, useState, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Problem } from '../shared/Problem.tsx';
import type { Key } from './key.ts';
import { LogLines } from './queries.ts';

type Event = ResultOf<typeof LogLines>['podLogs'];

/** kept is how many lines the page keeps. */
const kept = 5000;

const textOf = (e: Event): string => `${e.clusterName}/${e.podName}/${e.containerName}  ${e.line ?? e.message ?? ''}`;

/** Logs follows what the pods of all clusters write, once it is asked to. */
export function Logs({ of }: { of: Key }): ReactElement {
  const t = useT();
  const client = useClient();
  const [following, setFollowing] = useState(false);
  const [lines, setLines] = useState<string[]>([]);
  const [error, setError] = useState<CombinedError>();
  const [filter, setFilter] = useState('');
  const end = useRef<HTMLPreElement>(null);
  const key = JSON.stringify(of);

  useEffect(() => {
    if (!following) return undefined;
    let arrived: string[] = [];
    const { unsubscribe } = client.subscription(LogLines, JSON.parse(key) as Key).subscribe((result) => {
      setError(result.error);
      if (result.data) arrived.push(textOf(result.data.podLogs));
    });
    // What comes in a moment is drawn at once.
    const timer = window.setInterval(() => {
      if (arrived.length === 0) return;
      const more = arrived;
      arrived = [];
      setLines((before) => [...before, ...more].slice(-kept));
    }, 200);
    return () => {
      unsubscribe();
      window.clearInterval(timer);
    };
  }, [client, following, key]);

  const shown = useMemo(() => (filter === '' ? lines : lines.filter((line) => line.includes(filter))), [lines, filter]);
  useEffect(() => {
    end.current?.scrollTo({ top: end.current.scrollHeight });
  }, [shown]);

  const download = (): void => {
    const url = URL.createObjectURL(new Blob([shown.join('\n')], { type: 'text/plain' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `${of.name}.log`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <Paper withBorder p="md" component="section" aria-label={t('workload.logs')}>
      <Stack gap="sm">
        <Group gap="sm">
          <Button size="compact-sm" variant={following ? 'filled' : 'default'} aria-pressed={following} onClick={() => setFollowing(!following)}>
            {following ? t('workload.follow') : t('workload.logs')}
          </Button>
          {following && (
            <>
              <TextInput size="xs" aria-label={t('workload.logFilter')} placeholder={t('workload.logFilter')} value={filter} onChange={(e) => setFilter(e.currentTarget.value)} />
              <Button size="compact-sm" variant="subtle" onClick={download} disabled={shown.length === 0}>
                {t('workload.download')}
              </Button>
            </>
          )}
        </Group>
        <Problem error={error} />
        {following && shown.length === 0 && !error && <Text size="sm" className="kairship-dimmed">{t('workload.noLogs')}</Text>}
        {shown.length > 0 && (
          <Code block className="kairship-log" ref={end} tabIndex={0}>
            {shown.join('\n')}
          </Code>
        )}
      </Stack>
    </Paper>
  );
}
