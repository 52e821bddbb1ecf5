import { Alert, Badge, Button, Group, Skeleton, Stack, Tabs, Text, Title } from '@mantine/core';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState, type ReactElement } from 'react';
import { useQuery, useSubscription } from 'urql';

import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { AnchorLink, ButtonLink } from '../shared/links.tsx';
import { Problem } from '../shared/Problem.tsx';
import { useRefetch } from '../shared/useRefetch.ts';
import { WorkloadLines } from '../shared/WorkloadLines.tsx';
import { CordonButton } from './Cordon.tsx';
import { DrainDialog } from './DrainDialog.tsx';
import { LeaveDialog } from './LeaveDialog.tsx';
import { Loss } from './Loss.tsx';
import { isCordoned, type MemberKey } from './member.ts';
import { MoveClusterButton } from './MoveClusterDialog.tsx';
import { isDrained } from './membership.ts';
import { MemberChanges, MemberQuery } from './memberQueries.ts';
import { Nodes } from './Nodes.tsx';
import { Overview } from './Overview.tsx';
import { isMemberTab, memberTabs } from './tabs.ts';

const from = '/instances/$instance/clusters/$name';

/** MemberPage shows one member cluster: how it is, what runs there, and what would become of that without it. */
export function MemberPage(): ReactElement {
  const t = useT();
  const { instance, name } = useParams({ from });
  const { tab } = useSearch({ from });
  const navigate = useNavigate({ from });
  const key = useMemo<MemberKey>(() => ({ instance, name }), [instance, name]);
  const [{ data, error, fetching }, execute] = useQuery({ query: MemberQuery, variables: key });
  const refetch = useRefetch(() => execute({ requestPolicy: 'network-only' }));
  const filter = useMemo(() => ({ instances: [instance], name: [name] }), [instance, name]);
  useSubscription({ query: MemberChanges, variables: { filter } }, () => refetch());
  useEffect(() => {
    document.title = `${name} · Kairship`;
  }, [name]);

  const [dialog, setDialog] = useState<{ name: 'drain' | 'leave'; undo: boolean }>();
  const found = data?.instance ?? undefined;
  const member = found?.memberCluster ?? undefined;
  if (found === undefined || member === undefined) {
    if (fetching) return <Skeleton h={300} />;
    return (
      <>
        <Problem error={error} retry={refetch} />
        {error === undefined && (
          <Empty title={t('cluster.notFound')} hint={t('cluster.notFoundHint')}>
            <ButtonLink to="/clusters" variant="default" mt="md">
              {t('cluster.toList')}
            </ButtonLink>
          </Empty>
        )}
      </>
    );
  }
  const may = data?.viewer.can.update ?? false;
  const cordoned = isCordoned(member.taints);
  const ready = member.conditions.find((c) => c.type === 'Ready');
  const total = found.workloads.totalCount ?? found.workloads.nodes.length;
  const policies = [...found.propagationPolicies.nodes, ...found.clusterPropagationPolicies.nodes.map((p) => ({ ...p, namespace: null }))];
  return (
    <Stack gap="md" maw={1400}>
      <Group justify="space-between" align="flex-start">
        <Stack gap={2}>
          <Group gap="sm">
            <Title order={1}>{name}</Title>
            <Badge className={`kairship-badge kairship-${member.ready ? 'teal' : 'red'}`} variant="light" size="sm" radius="sm">
              {t(member.ready ? 'clusters.ready' : 'clusters.notReady')}
            </Badge>
            {cordoned && (
              <Badge className="kairship-badge kairship-orange" variant="light" size="sm" radius="sm">
                {t('cluster.cordoned')}
              </Badge>
            )}
          </Group>
          <Text size="sm" className="kairship-dimmed">
            {t('cluster.memberOf')}{' '}
            <AnchorLink to="/instances/$instance" params={{ instance }} size="sm" underline="always">
              {instance}
            </AnchorLink>
            {member.kubernetesVersion !== null && ` · Kubernetes ${member.kubernetesVersion}`}
          </Text>
        </Stack>
        <Group gap="sm">
          <Freshness of={member.freshness} />
          <CordonButton of={key} member={member} may={may} done={refetch} />
          {may && (
            <Button variant="default" size="xs" onClick={() => setDialog({ name: 'drain', undo: isDrained(member.taints) })}>
              {t(isDrained(member.taints) ? 'cluster.undoDrain' : 'cluster.drain')}
            </Button>
          )}
          {may && member.managed && <MoveClusterButton of={key} done={refetch} />}
          {may && member.managed && (
            <Button variant="default" size="xs" onClick={() => setDialog({ name: 'leave', undo: false })}>
              {t('cluster.leave')}
            </Button>
          )}
        </Group>
      </Group>
      {dialog?.name === 'drain' && <DrainDialog of={key} undo={dialog.undo} close={() => setDialog(undefined)} done={refetch} />}
      {dialog?.name === 'leave' && <LeaveDialog of={key} close={() => setDialog(undefined)} done={refetch} />}
      <Problem error={error} part retry={refetch} />
      {!member.ready && (
        <Alert color="red" variant="light" className="kairship-alert">
          {ready?.message ?? t('fleet.notReady')}
        </Alert>
      )}
      <Tabs value={tab ?? 'overview'} onChange={(value) => isMemberTab(value) && void navigate({ search: value === 'overview' ? {} : { tab: value }, replace: true })} keepMounted={false}>
        <Tabs.List>
          {memberTabs.map((of) => (
            <Tabs.Tab key={of} value={of}>
              {t(`cluster.tab.${of}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview" pt="md">
          <Overview of={key} member={member} policies={policies} />
        </Tabs.Panel>
        <Tabs.Panel value="workloads" pt="md">
          <div className="kairship-frame">
            {found.workloads.nodes.length === 0 ? <Empty title={t('cluster.noWorkloads')} hint={t('cluster.noWorkloadsHint')} /> : <WorkloadLines of={found.workloads.nodes} instance={instance} />}
            {total > found.workloads.nodes.length && (
              <AnchorLink to="/workloads" search={{ instance: [instance], cluster: [name] }} size="sm" p="md" display="block">
                {t('cluster.allWorkloads', { count: total })}
              </AnchorLink>
            )}
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="nodes" pt="md">
          <Nodes of={key} />
        </Tabs.Panel>
        <Tabs.Panel value="loss" pt="md">
          {may ? <Loss of={key} /> : <Empty title={t('action.notAllowed')} hint={t('cluster.lossNotAllowed')} />}
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
