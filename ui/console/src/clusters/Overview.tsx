import { Badge, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { ReactElement } from 'react';

import { useLanguage, useT } from '../app/i18n.ts';
import { PolicyLink } from '../policies/PolicyLink.tsx';
import { Allocation } from '../shared/Allocation.tsx';
import { Conditions } from '../shared/Conditions.tsx';
import { Facts } from '../shared/Facts.tsx';
import { bytes, digits } from '../shared/quantity.ts';
import { clock } from '../shared/time.ts';
import type { Member, MemberKey } from './member.ts';

/** Overview is what is known of a member cluster: capacity, taints, labels, versions, conditions, and policies that place there. */
export function Overview({ of, member, policies }: { of: MemberKey; member: Member; policies: readonly { namespace: string | null; name: string }[] }): ReactElement {
  const t = useT();
  const language = useLanguage();
  const when = (at: string): string => clock(at, language, new Date());
  const { cpu, memory, pods, nodes } = member;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Paper withBorder p="md" component="section" aria-labelledby="capacity">
        <Stack gap="sm">
          <Title order={2} id="capacity">{t('clusters.capacity')}</Title>
          {cpu === null || memory === null || pods === null ? (
            <Text size="sm" className="kairship-dimmed">{t('fleet.noSummary')}</Text>
          ) : (
            <>
              <Allocation label={t('fleet.cpu')} part={cpu.allocated} whole={cpu.allocatable} write={digits} />
              <Allocation label={t('fleet.memory')} part={memory.allocated} whole={memory.allocatable} write={bytes} />
              <Allocation label={t('fleet.pods')} part={pods.allocated} whole={pods.allocatable} write={digits} />
            </>
          )}
          {nodes && <Text size="sm">{t('cluster.nodesReady', { ready: nodes.ready, total: nodes.total })}</Text>}
        </Stack>
      </Paper>
      <Paper withBorder p="md" component="section" aria-labelledby="facts">
        <Stack gap="sm">
          <Title order={2} id="facts">{t('cluster.about')}</Title>
          <Facts
            of={[
              [t('clusters.region'), [member.provider, member.region, ...member.zones].filter(Boolean).join(' · ') || '–'],
              [t('cluster.endpoint'), <span key="e" className="kairship-mono">{member.apiEndpoint ?? '–'}</span>],
              [t('cluster.syncMode'), member.syncMode === 'PUSH' ? 'Push' : 'Pull'],
              [t('cluster.joined'), `${when(member.createdAt)}${member.managed ? ` · ${t('cluster.managed')}` : ''}`],
              [t('cluster.credentials'), member.cluster?.credentialsExpireTime ? when(member.cluster.credentialsExpireTime) : t('cluster.noExpiry')],
            ]}
          />
        </Stack>
      </Paper>
      <Paper withBorder p="md" component="section" aria-labelledby="taints">
        <Stack gap="sm">
          <Title order={2} id="taints">{t('clusters.taints')}</Title>
          {member.taints.length === 0 && <Text size="sm" className="kairship-dimmed">{t('cluster.noTaints')}</Text>}
          {member.taints.map((taint) => (
            <Group key={`${taint.key} ${taint.effect}`} gap="xs">
              <Text size="sm" className="kairship-mono">{taint.value ? `${taint.key}=${taint.value}` : taint.key}</Text>
              <Badge className={`kairship-badge kairship-${taint.effect === 'NoExecute' ? 'red' : 'orange'}`} variant="light" size="sm" radius="sm">{taint.effect}</Badge>
              {taint.timeAdded && <Text size="xs" className="kairship-dimmed">{when(taint.timeAdded)}</Text>}
            </Group>
          ))}
          <Title order={2}>{t('cluster.labels')}</Title>
          {member.labels.length === 0 && <Text size="sm" className="kairship-dimmed">{t('cluster.noLabels')}</Text>}
          <Group gap={6}>
            {member.labels.map((label) => (
              <span key={label.key} className="kairship-label">{`${label.key}=${label.value}`}</span>
            ))}
          </Group>
        </Stack>
      </Paper>
      <Stack gap="md">
        <Paper withBorder p="md" component="section" aria-labelledby="policies">
          <Stack gap="sm">
            <Title order={2} id="policies">{t('cluster.policies')}</Title>
            {policies.length === 0 && <Text size="sm" className="kairship-dimmed">{t('cluster.noPolicies')}</Text>}
            {policies.map((policy) => (
              <PolicyLink key={`${policy.namespace} ${policy.name}`} instance={of.instance} namespace={policy.namespace} name={policy.name} />
            ))}
          </Stack>
        </Paper>
        <Conditions of={member.conditions} />
      </Stack>
    </SimpleGrid>
  );
}
