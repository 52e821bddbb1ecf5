import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactElement } from 'react';
import { useQuery } from 'urql';

import { useLanguage, useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Problem } from '../shared/Problem.tsx';
import { clock } from '../shared/time.ts';
import type { Key } from './key.ts';
import { HistoryQuery } from './queries.ts';

/** History is what changed of the workload, by whom, and the events of Kubernetes about it. */
export function History({ of }: { of: Key }): ReactElement {
  const t = useT();
  const language = useLanguage();
  const [{ data, error }, execute] = useQuery({ query: HistoryQuery, variables: of });
  const workload = data?.instance?.workload;
  const when = (at: string | null): string => (at === null ? '' : clock(at, language, new Date()));
  return (
    <Stack gap="lg">
      <Problem error={error} part={data !== undefined} retry={() => execute({ requestPolicy: 'network-only' })} />
      <Stack gap="xs" component="section" aria-labelledby="timeline">
        <Title order={2} id="timeline">{t('workload.timeline')}</Title>
        <Paper withBorder>
          {workload?.timeline.nodes.length === 0 && <Empty title={t('workload.noTimeline')} />}
          <ul className="kairship-list">
            {workload?.timeline.nodes.map((entry, i) => (
              <li key={`${entry.at} ${i}`}>
                <Group gap="sm" px="md" py={8}>
                  <Text size="xs" w={130} className="kairship-dimmed">{when(entry.at)}</Text>
                  <Badge className="kairship-badge kairship-gray" variant="light" size="sm" radius="sm">{entry.change}</Badge>
                  <Text size="sm" flex={1} miw={200}>
                    {[entry.clusterName, entry.field].filter(Boolean).join(' ')}{' '}
                    {entry.before !== null || entry.after !== null ? `${entry.before ?? '–'} → ${entry.after ?? '–'}` : ''} {entry.message ?? ''}
                  </Text>
                  {entry.user !== null && <Text size="xs" className="kairship-dimmed">{t('workload.by', { user: entry.user })}</Text>}
                </Group>
              </li>
            ))}
          </ul>
        </Paper>
      </Stack>
      <Stack gap="xs" component="section" aria-labelledby="events">
        <Title order={2} id="events">{t('workload.events')}</Title>
        <Paper withBorder>
          {workload?.events.nodes.length === 0 && <Empty title={t('workload.noEvents')} />}
          <ul className="kairship-list">
            {workload?.events.nodes.map((event, i) => (
              <li key={`${event.reason} ${i}`}>
                <Group gap="sm" px="md" py={8}>
                  <Text size="xs" w={130} className="kairship-dimmed">{when(event.lastSeen)}</Text>
                  <Badge className={`kairship-badge kairship-${event.type === 'Warning' ? 'orange' : 'gray'}`} variant="light" size="sm" radius="sm">{event.reason}</Badge>
                  <Text size="sm" flex={1} miw={200}>{event.message}</Text>
                  <Text size="xs" className="kairship-dimmed">×{event.count}</Text>
                </Group>
              </li>
            ))}
          </ul>
        </Paper>
      </Stack>
    </Stack>
  );
}
