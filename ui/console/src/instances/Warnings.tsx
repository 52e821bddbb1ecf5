import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactElement } from 'react';
import { useQuery } from 'urql';

import { useLanguage, useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Problem } from '../shared/Problem.tsx';
import { clock } from '../shared/time.ts';
import { InstanceEventsQuery } from './queries.ts';

/** Warnings are the latest events of an instance that warn. */
export function Warnings({ name }: { name: string }): ReactElement {
  const t = useT();
  const language = useLanguage();
  const [{ data, error }] = useQuery({ query: InstanceEventsQuery, variables: { name } });
  const events = data?.instance?.events.nodes;
  return (
    <Stack gap="sm" component="section" aria-labelledby="warnings">
      <Title order={2} id="warnings">{t('instance.warnings')}</Title>
      <Problem error={error} part={events !== undefined} />
      {events && (
        <Paper withBorder>
          {events.length === 0 && <Empty title={t('instance.noWarnings')} />}
          <ul className="kairship-list">
            {events.map((event, i) => (
              <li key={`${event.reason} ${event.involvedName} ${i}`}>
                <Group gap="sm" px="md" py={8}>
                  <Badge className="kairship-badge kairship-orange" variant="light" size="sm" radius="sm">{event.reason}</Badge>
                  <Text size="sm" fw={600}>{event.involvedKind} {[event.involvedNamespace, event.involvedName].filter(Boolean).join('/')}</Text>
                  <Text size="sm" flex={1} miw={200} className="kairship-break">{event.message}</Text>
                  <Text size="xs" className="kairship-dimmed">
                    {event.count > 1 && `×${event.count} · `}
                    {event.lastSeen === null ? '' : clock(event.lastSeen, language, new Date())}
                  </Text>
                </Group>
              </li>
            ))}
          </ul>
        </Paper>
      )}
    </Stack>
  );
}
