import { Badge, Group, Paper, Stack, Table, Text, Title } from '@mantine/core';
import type { ReactElement } from 'react';

import type { ResultOf } from '../api/gql.ts';
import { useLanguage, useT } from '../app/i18n.ts';
import { isCordoned } from '../clusters/member.ts';
import { Empty } from '../shared/Empty.tsx';
import { AnchorLink } from '../shared/links.tsx';
import { Share } from '../shared/Share.tsx';
import { clock } from '../shared/time.ts';
import type { InstanceQuery } from './queries.ts';

type Member = NonNullable<ResultOf<typeof InstanceQuery>['instance']>['memberClusters']['nodes'][number];

/** Members is the member clusters of an instance: ready or not, how full, and until when their credentials are good. */
export function Members({ instance, of, total }: { instance: string; of: readonly Member[]; total: number }): ReactElement {
  const t = useT();
  const language = useLanguage();
  return (
    <Stack gap="sm" component="section" aria-labelledby="members">
      <Title order={2} id="members">{t('instance.members', { count: total })}</Title>
      <Paper withBorder>
        {of.length === 0 ? (
          <Empty title={t('instance.noMembers')} hint={t('instance.noMembersHint')} />
        ) : (
          <Table.ScrollContainer minWidth={820} type="native">
            <Table verticalSpacing={8} horizontalSpacing="md" highlightOnHover>
              <Table.Thead>
                <Table.Tr>
                  {[t('fleet.cluster'), t('clusters.nodes'), t('fleet.cpu'), t('fleet.memory'), t('fleet.pods'), t('clusters.version'), t('clusters.region'), t('cluster.credentials')].map((title) => (
                    <Table.Th key={title}>{title}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {of.map((m) => (
                  <Table.Tr key={m.name}>
                    <Table.Td>
                      <Group gap="xs" wrap="nowrap">
                        <AnchorLink to="/instances/$instance/clusters/$name" params={{ instance, name: m.name }} size="sm" fw={600}>{m.name}</AnchorLink>
                        <Badge className={`kairship-badge kairship-${m.ready ? (isCordoned(m.taints) ? 'orange' : 'teal') : 'red'}`} variant="light" size="sm" radius="sm">
                          {!m.ready ? t('clusters.notReady') : isCordoned(m.taints) ? t('cluster.cordoned') : t('clusters.ready')}
                        </Badge>
                      </Group>
                    </Table.Td>
                    <Table.Td>{m.nodes ? `${m.nodes.ready}/${m.nodes.total}` : '–'}</Table.Td>
                    <Table.Td><Share of={m.cpu} label={`${m.name}: ${t('fleet.cpu')} ${t('fleet.allocated')}`} /></Table.Td>
                    <Table.Td><Share of={m.memory} label={`${m.name}: ${t('fleet.memory')} ${t('fleet.allocated')}`} /></Table.Td>
                    <Table.Td><Share of={m.pods} label={`${m.name}: ${t('fleet.pods')} ${t('fleet.allocated')}`} /></Table.Td>
                    <Table.Td>{m.kubernetesVersion ?? '–'}</Table.Td>
                    <Table.Td>{[m.provider, m.region, ...m.zones].filter(Boolean).join(' · ') || '–'}</Table.Td>
                    <Table.Td>
                      <Text size="sm">{m.cluster?.credentialsExpireTime ? clock(m.cluster.credentialsExpireTime, language, new Date()) : '–'}</Text>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
      </Paper>
    </Stack>
  );
}
