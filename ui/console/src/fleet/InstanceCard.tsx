import { Badge, Card, Group, Stack, Text, Title } from '@mantine/core';
import type { ReactElement } from 'react';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Allocation } from '../shared/Allocation.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { AnchorLink } from '../shared/links.tsx';
import { bytes, digits } from '../shared/quantity.ts';
import { stateColor } from '../shared/state.ts';
import type { FleetQuery } from './queries.ts';

type Instance = ResultOf<typeof FleetQuery>['instances']['nodes'][number];

/** Count is how many of all are ready. */
function Count({ label, ready, total }: { label: string; ready: number; total: number }): ReactElement {
  return (
    <div>
      <Text size="lg" fw={600} className={ready < total ? 'kairship-warning' : ''}>
        {ready} / {total}
      </Text>
      <Text size="xs" className="kairship-dimmed">
        {label}
      </Text>
    </div>
  );
}

export function InstanceCard({ instance, workloads }: { instance: Instance; workloads: number }): ReactElement {
  const t = useT();
  const { summary } = instance;
  return (
    <Card withBorder padding="md" component="article" aria-labelledby={`instance-${instance.name}`}>
      <Stack gap="sm" h="100%">
        <Group justify="space-between" wrap="nowrap">
          <Title order={3} id={`instance-${instance.name}`} className="kairship-title">
            <AnchorLink to="/instances/$instance" params={{ instance: instance.name }} inherit c="inherit">
              {instance.alias ?? instance.name}
            </AnchorLink>
          </Title>
          <Badge className={`kairship-badge kairship-${stateColor[instance.state]}`} variant="light" size="sm" radius="sm">
            {t(`state.${instance.state}`)}
          </Badge>
        </Group>
        <Group justify="space-between" gap={4}>
          <Text size="xs" className="kairship-dimmed">
            {instance.karmadaVersion === null ? instance.name : t('fleet.karmada', { version: instance.karmadaVersion })}
          </Text>
          <AnchorLink to="/workloads" search={{ instance: [instance.name] }} size="xs">
            {t('fleet.workloads', { count: workloads })}
          </AnchorLink>
        </Group>
        {summary === null ? (
          <Text size="sm" className="kairship-dimmed">
            {t('fleet.noSummary')}
          </Text>
        ) : (
          <>
            <Group grow>
              <Count label={t('fleet.clustersReady')} {...summary.clusters} />
              <Count label={t('fleet.nodesReady')} {...summary.nodes} />
            </Group>
            <Stack gap={6}>
              <Allocation label={t('fleet.cpu')} part={summary.cpu.allocated} whole={summary.cpu.allocatable} write={digits} />
              <Allocation label={t('fleet.memory')} part={summary.memory.allocated} whole={summary.memory.allocatable} write={bytes} />
              <Allocation label={t('fleet.pods')} part={summary.pods.allocated} whole={summary.pods.allocatable} write={digits} />
            </Stack>
          </>
        )}
        <Group mt="auto">
          <Freshness of={instance.freshness} />
        </Group>
      </Stack>
    </Card>
  );
}
