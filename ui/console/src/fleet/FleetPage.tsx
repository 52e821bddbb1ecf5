import { Button, Group, SimpleGrid, Skeleton, Stack, Title } from '@mantine/core';
import { lazy, Suspense, useEffect, useState, type ReactElement } from 'react';
import { useQuery, useSubscription } from 'urql';

import { useT } from '../app/i18n.ts';
import { useViewer } from '../app/viewer.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { Problem } from '../shared/Problem.tsx';
import { useRefetch } from '../shared/useRefetch.ts';
import { InstanceCard } from './InstanceCard.tsx';
import { Problems } from './Problems.tsx';
import { FleetChanges, FleetQuery, ProblemChanges } from './queries.ts';

// Few visits register anything.
const RegisterInstance = lazy(() => import('./RegisterInstance.tsx').then((module) => ({ default: module.RegisterInstance })));
const CreateInstance = lazy(() => import('./CreateInstance.tsx').then((module) => ({ default: module.CreateInstance })));

/** FleetPage shows what needs attention first, then every instance. */
export function FleetPage(): ReactElement {
  const t = useT();
  const [{ data, error, fetching }, execute] = useQuery({ query: FleetQuery });
  const refetch = useRefetch(() => execute({ requestPolicy: 'network-only' }));
  useSubscription({ query: FleetChanges }, () => refetch());
  useSubscription({ query: ProblemChanges }, () => refetch());
  useEffect(() => {
    document.title = `${t('fleet.title')} · Kairship`;
  }, [t]);

  const { seesAllInstances } = useViewer();
  const [adds, setAdds] = useState<'register' | 'install'>();
  const counts = new Map(data?.counted.facets[0]?.values.map((v) => [v.value, v.count]));
  return (
    <Stack gap="lg" maw={1400}>
      <Group justify="space-between" align="baseline">
        <Title order={1}>{t('fleet.title')}</Title>
        <Freshness of={data?.instances.freshness} />
      </Group>
      <Suspense>
        {adds === 'register' && <RegisterInstance close={() => setAdds(undefined)} done={refetch} />}
        {adds === 'install' && <CreateInstance close={() => setAdds(undefined)} done={refetch} />}
      </Suspense>
      <Problem error={error} part={data !== undefined} retry={refetch} />
      {data === undefined && fetching && <Skeleton h={240} />}
      {data && (
        <>
          <Problems data={data} />
          <Stack gap="sm" component="section" aria-labelledby="instances">
            <Group justify="space-between">
              <Title order={2} id="instances">
                {t('fleet.instances')}
              </Title>
              {seesAllInstances && (
                <Group gap="xs">
                  <Button variant="default" size="xs" onClick={() => setAdds('install')}>
                    {t('fleet.install')}
                  </Button>
                  <Button variant="default" size="xs" onClick={() => setAdds('register')}>
                    {t('fleet.register')}
                  </Button>
                </Group>
              )}
            </Group>
            {data.instances.nodes.length === 0 && <Empty title={t('fleet.noInstances')} hint={t('fleet.noInstancesHint')} />}
            <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
              {data.instances.nodes.map((instance) => (
                <InstanceCard key={instance.name} instance={instance} workloads={counts.get(instance.name) ?? 0} />
              ))}
            </SimpleGrid>
          </Stack>
        </>
      )}
    </Stack>
  );
}
