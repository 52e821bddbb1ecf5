import { Badge, Group, Paper, Skeleton, Stack, Table, Text } from '@mantine/core';
import type { ReactElement } from 'react';
import { useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { Problem } from '../shared/Problem.tsx';
import { bytes, digits } from '../shared/quantity.ts';
import type { MemberKey } from './member.ts';
import { NodesQuery } from './memberQueries.ts';

/** Nodes is the nodes of a member cluster. */
export function Nodes({ of }: { of: MemberKey }): ReactElement {
  const t = useT();
  const [{ data, error, fetching }] = useQuery({ query: NodesQuery, variables: of });
  const list = data?.instance?.memberCluster?.clusterNodes;
  const figure = (value: number | null, write: (n: number) => string): string => (value === null ? '–' : write(value));
  return (
    <Stack gap="sm">
      <Problem error={error} part={list !== undefined} />
      {list === undefined && fetching && <Skeleton h={200} />}
      {list && (
        <>
          <Group justify="space-between">
            <Text size="sm">{t('cluster.nodeCount', { count: list.totalCount ?? list.nodes.length })}</Text>
            <Freshness of={list.freshness} />
          </Group>
          <Paper withBorder>
            {list.nodes.length === 0 ? (
              <Empty title={t('cluster.noNodes')} hint={t('cluster.noNodesHint')} />
            ) : (
              <Table.ScrollContainer minWidth={760} type="native" tabIndex={0}>
                <Table verticalSpacing={8} horizontalSpacing="md">
                  <Table.Thead>
                    <Table.Tr>
                      {[t('workload.node'), t('clusters.ready'), t('clusters.version'), t('fleet.cpu'), t('fleet.memory'), t('fleet.pods'), t('clusters.taints')].map((title) => (
                        <Table.Th key={title}>{title}</Table.Th>
                      ))}
                    </Table.Tr>
                  </Table.Thead>
                  <Table.Tbody>
                    {list.nodes.map((node) => (
                      <Table.Tr key={node.name}>
                        <Table.Td>
                          <Text size="sm" fw={600}>{node.name}</Text>
                          {node.roles.length > 0 && <Text size="xs" className="kairship-dimmed">{node.roles.join(', ')}</Text>}
                        </Table.Td>
                        <Table.Td>
                          <Badge
                            className={`kairship-badge kairship-${node.ready ? (node.unschedulable ? 'orange' : 'teal') : 'red'}`}
                            variant="light"
                            size="sm"
                            radius="sm"
                            title={node.conditions.find((c) => c.type === 'Ready')?.message}
                          >
                            {node.unschedulable && node.ready ? t('cluster.cordoned') : t(node.ready ? 'clusters.ready' : 'clusters.notReady')}
                          </Badge>
                        </Table.Td>
                        <Table.Td>{node.kubeletVersion ?? '–'}</Table.Td>
                        <Table.Td>{figure(node.allocatable.cpu, digits)}</Table.Td>
                        <Table.Td>{figure(node.allocatable.memory, bytes)}</Table.Td>
                        <Table.Td>{figure(node.allocatable.pods, digits)}</Table.Td>
                        <Table.Td className="kairship-mono">{node.taints.map((taint) => `${taint.key}:${taint.effect}`).join(', ') || '–'}</Table.Td>
                      </Table.Tr>
                    ))}
                  </Table.Tbody>
                </Table>
              </Table.ScrollContainer>
            )}
          </Paper>
        </>
      )}
    </Stack>
  );
}
