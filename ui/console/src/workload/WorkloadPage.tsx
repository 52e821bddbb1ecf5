import { Alert, Button, Group, Skeleton, Stack, Tabs, Text, Title } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, type ReactElement } from 'react';
import { useQuery, useSubscription } from 'urql';

import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { Health } from '../shared/Health.tsx';
import { Problem } from '../shared/Problem.tsx';
import { useRefetch } from '../shared/useRefetch.ts';
import { Actions } from './Actions.tsx';
import { History } from './History.tsx';
import type { Workload } from './layout.ts';
import type { Key } from './key.ts';
import { Manifest } from './Manifest.tsx';
import { Pods } from './Pods.tsx';
import { OneChanges, WorkloadQuery } from './queries.ts';
import { Revisions } from './Revisions.tsx';
import { isTab, tabsOf } from './tabs.ts';
import { Why } from './Why.tsx';

const Graph = lazy(() => import('./Graph.tsx').then((module) => ({ default: module.Graph })));

const from = '/instances/$instance/workloads/$kind/$namespace/$name';

/** WorkloadPage shows one workload over all of its clusters: how it is, why, and what to do. */
export function WorkloadPage(): ReactElement {
  const t = useT();
  const params = useParams({ from });
  const { tab } = useSearch({ from });
  const navigate = useNavigate({ from });
  const key = useMemo(() => params as Key, [params]);
  const [{ data, error, fetching }, execute] = useQuery({ query: WorkloadQuery, variables: key });
  const refetch = useRefetch(() => execute({ requestPolicy: 'network-only' }));
  const filter = useMemo(() => ({ instances: [key.instance], kinds: [key.kind], namespaces: [key.namespace], name: [key.name] }), [key]);
  useSubscription({ query: OneChanges, variables: { filter } }, () => refetch());
  useEffect(() => {
    document.title = `${key.name} · Kairship`;
  }, [key.name]);

  const workload = data?.instance?.workload ?? undefined;
  if (workload === undefined) {
    return (
      <Stack gap="md">
        <Problem error={error} retry={refetch} />
        {fetching ? <Skeleton h={300} /> : !error && <Empty title={t('workload.notFound')} hint={t('workload.notFoundHint')} />}
      </Stack>
    );
  }
  return (
    <Stack gap="md" maw={1400}>
      <Head of={key} workload={workload} done={refetch} />
      <Problem error={error} part />
      <Tabs value={tab ?? 'why'} onChange={(next) => isTab(next) && void navigate({ search: { tab: next }, replace: true })} keepMounted={false}>
        <Tabs.List>
          {tabsOf(workload.kind).map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t(`workload.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="why" pt="md">
          <Why of={key} workload={workload} />
        </Tabs.Panel>
        <Tabs.Panel value="graph" pt="md">
          <Suspense fallback={<Skeleton h={220} />}>
            <Graph workload={workload} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="pods" pt="md">
          <Pods of={key} version={podsVersion(workload)} />
        </Tabs.Panel>
        <Tabs.Panel value="manifest" pt="md">
          <Manifest of={key} />
        </Tabs.Panel>
        <Tabs.Panel value="revisions" pt="md">
          <Revisions of={key} workload={workload} version={`${workload.resourceVersion} ${podsVersion(workload)}`} done={refetch} />
        </Tabs.Panel>
        <Tabs.Panel value="timeline" pt="md">
          <History of={key} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

/** podsVersion changes when the pods have. */
function podsVersion(w: Workload): string {
  return w.placements.flatMap((p) => (p.object?.pods ?? []).map((pod) => `${pod.name} ${pod.phase} ${pod.ready} ${pod.restarts}`)).join('\n');
}

/** Head says what the workload is and how it is, with what can be done. */
function Head({ of, workload, done }: { of: Key; workload: Workload; done: () => void }): ReactElement {
  const t = useT();
  const clipboard = useClipboard();
  const command = `kubectl get ${of.kind.replaceAll('_', '').toLowerCase()} -n ${of.namespace} ${of.name} -o yaml`;
  const { desired, ready } = workload.replicas;
  const unwell = workload.health !== 'HEALTHY';
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="flex-start">
        <Stack gap={2}>
          <Group gap="sm">
            <Title order={1}>{workload.name}</Title>
            <Health value={workload.health} />
          </Group>
          <Text size="sm" className="kairship-dimmed">
            {t(`kind.${workload.kind}`)} · {workload.namespace} · {of.instance} · {t('workload.replicas', { ready, desired })}
          </Text>
        </Stack>
        <Group gap="sm">
          <Freshness of={workload.freshness} />
          <Button variant="subtle" size="compact-sm" onClick={() => clipboard.copy(command)}>
            {clipboard.copied ? t('app.copied') : t('app.copyCommand')}
          </Button>
          <Actions of={of} workload={workload} done={done} />
        </Group>
      </Group>
      {unwell && (workload.explanation?.summary ?? workload.healthMessage) && (
        <Alert color={workload.health === 'PROGRESSING' ? 'blue' : 'orange'} variant="light" className="kairship-alert">
          {workload.explanation?.summary ?? workload.healthMessage}
        </Alert>
      )}
    </Stack>
  );
}
