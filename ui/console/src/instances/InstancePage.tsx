import { Alert, Badge, Button, Group, Paper, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useState, type ReactElement } from 'react';
import { useQuery, useSubscription } from 'urql';

import { useLanguage, useT } from '../app/i18n.ts';
import { Allocation } from '../shared/Allocation.tsx';
import { Conditions } from '../shared/Conditions.tsx';
import { Empty } from '../shared/Empty.tsx';
import { Facts } from '../shared/Facts.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { AnchorLink, ButtonLink } from '../shared/links.tsx';
import { Problem } from '../shared/Problem.tsx';
import { bytes, digits } from '../shared/quantity.ts';
import { stateColor } from '../shared/state.ts';
import { clock } from '../shared/time.ts';
import { useRefetch } from '../shared/useRefetch.ts';
import { WorkloadLines } from '../shared/WorkloadLines.tsx';
import { MemberChanges } from '../clusters/memberQueries.ts';
import { HealthBar } from './HealthBar.tsx';
import { Members } from './Members.tsx';
import { InstanceQuery, OneInstanceChanges } from './queries.ts';
import { Warnings } from './Warnings.tsx';

// Few visits upgrade anything.
const UpgradeDialog = lazy(() => import('./UpgradeDialog.tsx').then((module) => ({ default: module.UpgradeDialog })));

/** InstancePage shows one instance: how it is, its member clusters, and what in it needs attention. */
export function InstancePage(): ReactElement {
  const t = useT();
  const language = useLanguage();
  const { instance: name } = useParams({ from: '/instances/$instance' });
  const [{ data, error, fetching }, execute] = useQuery({ query: InstanceQuery, variables: { name } });
  const refetch = useRefetch(() => execute({ requestPolicy: 'network-only' }));
  const itself = useMemo(() => ({ name: [name] }), [name]);
  const within = useMemo(() => ({ instances: [name] }), [name]);
  useSubscription({ query: OneInstanceChanges, variables: { filter: itself } }, () => refetch());
  useSubscription({ query: MemberChanges, variables: { filter: within } }, () => refetch());
  useEffect(() => {
    document.title = `${name} · Kairship`;
  }, [name]);

  const [upgrades, setUpgrades] = useState(false);
  const instance = data?.instance ?? undefined;
  if (instance === undefined) {
    if (fetching) return <Skeleton h={300} />;
    return (
      <>
        <Problem error={error} retry={refetch} />
        {error === undefined && (
          <Empty title={t('instance.notFound')} hint={t('instance.notFoundHint')}>
            <ButtonLink to="/" variant="default" mt="md">{t('app.toFleet')}</ButtonLink>
          </Empty>
        )}
      </>
    );
  }
  const { summary } = instance;
  const ready = instance.conditions.find((c) => c.type === 'Ready');
  const unwell = instance.workloads.totalCount ?? 0;
  return (
    <Stack gap="lg" maw={1400}>
      <Group justify="space-between" align="flex-start">
        <Stack gap={2}>
          <Group gap="sm">
            <Title order={1}>{instance.alias ?? name}</Title>
            <Badge className={`kairship-badge kairship-${stateColor[instance.state]}`} variant="light" size="sm" radius="sm">{t(`state.${instance.state}`)}</Badge>
          </Group>
          <Text size="sm" className="kairship-dimmed">
            {[name, t(`instance.mode.${instance.mode}`), instance.karmadaVersion && t('fleet.karmada', { version: instance.karmadaVersion })].filter(Boolean).join(' · ')}
          </Text>
        </Stack>
        <Group gap="sm">
          <Freshness of={instance.freshness} />
          {instance.mode === 'MANAGED' && (
            <Button
              variant="default"
              size="xs"
              disabled={!instance.viewerCan.update}
              {...(!instance.viewerCan.update && { title: t('action.notAllowed') })}
              onClick={() => setUpgrades(true)}
            >
              {t('instance.upgrade')}
            </Button>
          )}
          <ButtonLink to="/instances/$instance/access" params={{ instance: name }} variant="default" size="xs">{t('access.title')}</ButtonLink>
          <ButtonLink to="/activity" search={{ instance: name }} variant="default" size="xs">{t('app.activity')}</ButtonLink>
          <ButtonLink to="/policies" search={{ instance: name }} variant="default" size="xs">{t('app.policies')}</ButtonLink>
          <ButtonLink to="/workloads" search={{ instance: [name] }} variant="default" size="xs">{t('app.workloads')}</ButtonLink>
        </Group>
      </Group>
      {upgrades && (
        <Suspense>
          <UpgradeDialog name={name} resourceVersion={instance.resourceVersion} versions={instance.upgradeVersions} close={() => setUpgrades(false)} done={refetch} />
        </Suspense>
      )}
      <Problem error={error} part retry={refetch} />
      {instance.state !== 'RUNNING' && <Alert color="red" variant="light" className="kairship-alert">{ready?.message ?? t(`state.${instance.state}`)}</Alert>}
      <Stack gap="sm" component="section" aria-labelledby="instance-workloads">
        <Title order={2} id="instance-workloads">{t('fleet.workloads', { count: instance.all.totalCount ?? 0 })}</Title>
        <HealthBar instance={name} values={instance.all.facets.find((f) => f.field === 'HEALTH')?.values ?? []} />
        {instance.workloads.nodes.length > 0 && (
          <Paper withBorder>
            <WorkloadLines of={instance.workloads.nodes} instance={name} />
            {unwell > instance.workloads.nodes.length && (
              <AnchorLink to="/workloads" search={{ instance: [name], health: ['DEGRADED', 'UNSCHEDULED', 'UNPROPAGATED', 'PROGRESSING', 'UNKNOWN'] }} size="sm" px="md" py="xs" display="block">
                {t('fleet.more', { count: unwell - instance.workloads.nodes.length })}
              </AnchorLink>
            )}
          </Paper>
        )}
      </Stack>
      <Members instance={name} of={instance.memberClusters.nodes} total={instance.memberClusters.totalCount ?? instance.memberClusters.nodes.length} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <Paper withBorder p="md" component="section" aria-labelledby="capacity">
          <Stack gap="sm">
            <Title order={2} id="capacity">{t('clusters.capacity')}</Title>
            {summary === null ? (
              <Text size="sm" className="kairship-dimmed">{t('fleet.noSummary')}</Text>
            ) : (
              <>
                <Allocation label={t('fleet.cpu')} part={summary.cpu.allocated} whole={summary.cpu.allocatable} write={digits} />
                <Allocation label={t('fleet.memory')} part={summary.memory.allocated} whole={summary.memory.allocatable} write={bytes} />
                <Allocation label={t('fleet.pods')} part={summary.pods.allocated} whole={summary.pods.allocatable} write={digits} />
              </>
            )}
            <Facts
              of={[
                ['Kubernetes', instance.kubernetesVersion ?? '–'],
                [t('instance.host'), instance.hostCluster?.name ?? '–'],
                [t('instance.created'), clock(instance.createdAt, language, new Date())],
                [t('app.policies'), summary?.policies.filter((p) => p.total > 0).map((p) => `${p.kind} ${p.total}`).join(' · ') || '–'],
              ]}
            />
          </Stack>
        </Paper>
        <Conditions of={instance.conditions} />
      </SimpleGrid>
      <Warnings name={name} />
    </Stack>
  );
}
