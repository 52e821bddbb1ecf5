import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactElement } from 'react';

import type { ResultOf } from '../api/gql.ts';
import { useLanguage, useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Health } from '../shared/Health.tsx';
import { AnchorLink } from '../shared/links.tsx';
import { clock } from '../shared/time.ts';
import { useNow } from '../shared/useNow.ts';
import { troubles, type Trouble } from './problems.ts';
import type { FleetQuery } from './queries.ts';

/** Line is one thing that needs attention: what it is, why, and where to look. */
function Line({ of }: { of: Trouble }): ReactElement {
  const t = useT();
  const language = useLanguage();
  switch (of.is) {
    case 'workload':
      return (
        <>
          <Health value={of.health} />
          <AnchorLink
            to="/instances/$instance/workloads/$kind/$namespace/$name"
            params={{ instance: of.instance, kind: of.kind, namespace: of.namespace, name: of.name }}
            size="sm"
            fw={600}
          >
            {of.namespace}/{of.name}
          </AnchorLink>
          <Text size="xs" className="kairship-dimmed">
            {t(`kind.${of.kind}`)} · {of.instance}
          </Text>
          <Text size="sm" flex={1} miw={200}>
            {of.message}
          </Text>
        </>
      );
    case 'instance':
      return (
        <>
          <Badge className="kairship-badge kairship-red" variant="light" size="sm" radius="sm">
            {t(`state.${of.state}`)}
          </Badge>
          <Text size="sm" fw={600}>
            {t('fleet.instance')} {of.name}
          </Text>
          <Text size="sm" flex={1} miw={200}>
            {of.message}
          </Text>
        </>
      );
    default:
      return (
        <>
          <Badge className="kairship-badge kairship-orange" variant="light" size="sm" radius="sm">
            {t('fleet.cluster')}
          </Badge>
          <AnchorLink to="/clusters" size="sm" fw={600}>
            {of.name}
          </AnchorLink>
          <Text size="sm" flex={1} miw={200}>
            {of.is === 'cluster' ? of.message || t('fleet.notReady') : t('fleet.credentialsExpire', { time: clock(of.at, language, new Date()) })}
          </Text>
        </>
      );
  }
}

/** Problems are what needs attention, across all instances. */
export function Problems({ data }: { data: ResultOf<typeof FleetQuery> }): ReactElement {
  const t = useT();
  const now = useNow(60_000);
  const all = troubles(data, now);
  const more = (data.workloads.totalCount ?? 0) - data.workloads.nodes.length;
  return (
    <Stack gap="sm" component="section" aria-labelledby="problems">
      <Title order={2} id="problems">
        {t('fleet.problems')}
      </Title>
      <Paper withBorder>
        {all.length === 0 && <Empty title={t('fleet.noProblems')} hint={t('fleet.noProblemsHint')} />}
        <ul className="kairship-list">
          {all.map((of) => (
            <li key={of.is === 'workload' ? `${of.instance}/${of.kind}/${of.namespace}/${of.name}` : `${of.is}/${of.name}`}>
              <Group gap="sm" px="md" py={10}>
                <Line of={of} />
              </Group>
            </li>
          ))}
        </ul>
        {more > 0 && (
          <Group px="md" py="xs">
            <AnchorLink to="/workloads" search={{ health: ['DEGRADED', 'UNSCHEDULED', 'UNPROPAGATED', 'PROGRESSING', 'UNKNOWN'] }} size="sm">
              {t('fleet.more', { count: more })}
            </AnchorLink>
          </Group>
        )}
      </Paper>
    </Stack>
  );
}
