import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactElement } from 'react';

import { useLanguage, useT } from '../app/i18n.ts';
import { isGood } from './condition.ts';
import { clock } from './time.ts';

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastTransitionTime: string | null;
}

/** Conditions are the conditions of an object, those that are not as they should be first. */
export function Conditions({ of }: { of: readonly Condition[] }): ReactElement {
  const t = useT();
  const language = useLanguage();
  const sorted = [...of].sort((a, b) => Number(isGood(a)) - Number(isGood(b)));
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="conditions">
      <Stack gap="sm">
        <Title order={2} id="conditions">
          {t('cluster.conditions')}
        </Title>
        {sorted.map((c) => (
          <div key={c.type}>
            <Group gap="xs">
              <Badge className={`kairship-badge kairship-${isGood(c) ? 'teal' : c.status === 'Unknown' ? 'gray' : 'orange'}`} variant="light" size="sm" radius="sm">
                {c.type}: {c.status}
              </Badge>
              <Text size="xs" className="kairship-dimmed">
                {c.reason}
                {c.lastTransitionTime && ` · ${t('cluster.since', { time: clock(c.lastTransitionTime, language, new Date()) })}`}
              </Text>
            </Group>
            {c.message && (
              <Text size="sm" mt={2} className="kairship-break">
                {c.message}
              </Text>
            )}
          </div>
        ))}
      </Stack>
    </Paper>
  );
}
