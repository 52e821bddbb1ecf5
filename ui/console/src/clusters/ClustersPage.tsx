import { Badge, Button, Group, Paper, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { useEffect, useState, type ReactElement } from 'react';
import { useQuery, useSubscription } from 'urql';

import { useT } from '../app/i18n.ts';
import { useViewer } from '../app/viewer.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { AnchorLink } from '../shared/links.tsx';
import { Problem } from '../shared/Problem.tsx';
import { Share } from '../shared/Share.tsx';
import { useRefetch } from '../shared/useRefetch.ts';
import { HeatMap } from './HeatMap.tsx';
import { JoinDialog } from './JoinDialog.tsx';
import { RegisterDialog } from './RegisterDialog.tsx';
import { ClusterChanges, ClustersQuery } from './queries.ts';

/** ClustersPage lists the inventory: what is ready, where it is, and how full it is. */
export function ClustersPage(): ReactElement {
  const t = useT();
  const [{ data, error, fetching }, execute] = useQuery({ query: ClustersQuery });
  const refetch = useRefetch(() => execute({ requestPolicy: 'network-only' }));
  useSubscription({ query: ClusterChanges }, () => refetch());
  useEffect(() => {
    document.title = `${t('clusters.title')} · Kairship`;
  }, [t]);
  const { seesAllInstances } = useViewer();
  const [dialog, setDialog] = useState<{ register: true } | { join: string }>();
  const clusters = data?.clusters.nodes.filter((c) => !c.hidden) ?? [];
  return (
    <Stack gap="md" maw={1400}>
      <Group justify="space-between" align="baseline">
        <Title order={1}>{t('clusters.title')}</Title>
        <Group gap="sm">
          <Freshness of={data?.clusters.freshness} />
          {seesAllInstances && (
            <Button variant="default" size="xs" onClick={() => setDialog({ register: true })}>
              {t('clusters.register')}
            </Button>
          )}
        </Group>
      </Group>
      {dialog && 'register' in dialog && <RegisterDialog close={() => setDialog(undefined)} done={refetch} />}
      {dialog && 'join' in dialog && <JoinDialog cluster={dialog.join} close={() => setDialog(undefined)} done={refetch} />}
      <Problem error={error} part={data !== undefined} retry={refetch} />
      {data === undefined && fetching && <Skeleton h={240} />}
      {data && clusters.length === 0 && <Empty title={t('clusters.none')} hint={t('clusters.noneHint')} />}
      {clusters.length > 1 && <HeatMap of={clusters} />}
      {clusters.length > 0 && (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={820} type="native">
            <Table verticalSpacing="xs" horizontalSpacing="md">
              <Table.Thead>
                <Table.Tr>
                  {([t('workloads.name'), t('clusters.instance'), t('clusters.nodes'), t('fleet.cpu'), t('fleet.memory'), t('fleet.pods'), t('clusters.version'), t('clusters.region')] as const).map((title) => (
                    <Table.Th key={title}>{title}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {clusters.map((c) => {
                  const ready = c.conditions.find((condition) => condition.type === 'Ready');
                  return (
                    <Table.Tr key={c.name}>
                      <Table.Td>
                        <Group gap="xs" wrap="nowrap">
                          {c.instance ? (
                            <AnchorLink to="/instances/$instance/clusters/$name" params={{ instance: c.instance.name, name: c.name }} size="sm" fw={600}>
                              {c.alias ?? c.name}
                            </AnchorLink>
                          ) : (
                            <Text size="sm" fw={600}>
                              {c.alias ?? c.name}
                            </Text>
                          )}
                          <Badge className={`kairship-badge ${ready?.status === 'True' ? 'kairship-teal' : 'kairship-orange'}`} variant="light" size="sm" radius="sm" title={ready?.message}>
                            {ready?.status === 'True' ? t('clusters.ready') : t('clusters.notReady')}
                          </Badge>
                        </Group>
                      </Table.Td>
                      <Table.Td>
                        {c.instance?.name ?? (
                          <Group gap="xs" wrap="nowrap">
                            {t('clusters.free')}
                            {seesAllInstances && (
                              <Button size="compact-xs" variant="default" aria-label={t('cluster.joinOf', { cluster: c.name })} onClick={() => setDialog({ join: c.name })}>
                                {t('cluster.join')}
                              </Button>
                            )}
                          </Group>
                        )}
                      </Table.Td>
                      <Table.Td>{c.summary ? `${c.summary.nodes.ready}/${c.summary.nodes.total}` : '–'}</Table.Td>
                      <Table.Td>
                        <Share of={c.summary?.cpu} label={`${c.name}: ${t('fleet.cpu')} ${t('fleet.allocated')}`} />
                      </Table.Td>
                      <Table.Td>
                        <Share of={c.summary?.memory} label={`${c.name}: ${t('fleet.memory')} ${t('fleet.allocated')}`} />
                      </Table.Td>
                      <Table.Td>
                        <Share of={c.summary?.pods} label={`${c.name}: ${t('fleet.pods')} ${t('fleet.allocated')}`} />
                      </Table.Td>
                      <Table.Td>{c.kubernetesVersion ?? '–'}</Table.Td>
                      <Table.Td>{[c.provider, c.region, c.zone].filter(Boolean).join(' · ') || '–'}</Table.Td>
                    </Table.Tr>
                  );
                })}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
    </Stack>
  );
}
