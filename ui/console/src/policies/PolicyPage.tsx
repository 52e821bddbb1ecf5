import { Button, Group, Skeleton, Stack, Tabs, Text, Title } from '@mantine/core';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useState, type ReactElement } from 'react';
import { useQuery, useSubscription } from 'urql';

import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { Problem } from '../shared/Problem.tsx';
import { useRefetch } from '../shared/useRefetch.ts';
import { DeleteDialog } from './DeleteDialog.tsx';
import { Governs, Rules } from './Governs.tsx';
import { isKind, noNamespace, type Key } from './kinds.ts';
import { PolicyChanges, PolicyQuery } from './queries.ts';

// The editor is large, and most visits only look.
const Editor = lazy(() => import('./Editor.tsx').then((module) => ({ default: module.Editor })));

const from = '/instances/$instance/policies/$kind/$namespace/$name';

/** PolicyPage is one policy: what it governs, and a draft of it with what that would do. */
export function PolicyPage(): ReactElement {
  const t = useT();
  const params = useParams({ from });
  const { tab } = useSearch({ from });
  const navigate = useNavigate({ from });
  const { instance, name } = params;
  const kind = isKind(params.kind) ? params.kind : 'PROPAGATION_POLICY';
  const namespace = params.namespace === noNamespace ? null : params.namespace;
  const key = useMemo<Key>(() => ({ instance, kind, namespace, name }), [instance, kind, namespace, name]);
  const variables = useMemo(
    () => ({ instance, name, namespace: namespace ?? '', pp: kind === 'PROPAGATION_POLICY', cpp: kind === 'CLUSTER_PROPAGATION_POLICY', op: kind === 'OVERRIDE_POLICY', cop: kind === 'CLUSTER_OVERRIDE_POLICY' }),
    [instance, kind, namespace, name],
  );
  const [{ data, error, fetching }, execute] = useQuery({ query: PolicyQuery, variables });
  const refetch = useRefetch(() => execute({ requestPolicy: 'network-only' }));
  const filter = useMemo(() => ({ instances: [instance], kinds: [kind], name: [name], ...(namespace === null ? {} : { namespaces: [namespace] }) }), [instance, kind, namespace, name]);
  useSubscription({ query: PolicyChanges, variables: { filter } }, () => refetch());
  useEffect(() => {
    document.title = `${name} · Kairship`;
  }, [name]);

  const [deletes, setDeletes] = useState(false);
  const propagation = data?.instance?.propagationPolicy ?? data?.instance?.clusterPropagationPolicy ?? undefined;
  const override = data?.instance?.overridePolicy ?? data?.instance?.clusterOverridePolicy ?? undefined;
  const policy = propagation ?? override;
  if (policy === undefined) {
    if (fetching) return <Skeleton h={300} />;
    return (
      <>
        <Problem error={error} retry={refetch} />
        {error === undefined && (
          <Empty title={t('policies.notFound')} hint={t('policies.notFoundHint')}>
            <ButtonLink to="/policies" search={{ instance }} variant="default" mt="md">
              {t('policies.toList')}
            </ButtonLink>
          </Empty>
        )}
      </>
    );
  }
  return (
    <Stack gap="md" maw={1500}>
      <Group justify="space-between" align="flex-start">
        <Stack gap={2}>
          <Title order={1}>{name}</Title>
          <Text size="sm" className="kairship-dimmed">
            {[t(`policies.kind.${kind}`), namespace, instance].filter(Boolean).join(' · ')}
            {policy.deleting && ` · ${t('policies.deleting')}`}
          </Text>
        </Stack>
        <Group gap="sm">
          <Freshness of={policy.freshness} />
          {policy.viewerCan.delete && !policy.deleting && (
            <Button variant="default" onClick={() => setDeletes(true)}>
              {t('action.delete')}
            </Button>
          )}
        </Group>
      </Group>
      {deletes && <DeleteDialog of={key} close={() => setDeletes(false)} done={() => void navigate({ to: '/policies', search: { instance } })} />}
      <Problem error={error} part retry={refetch} />
      <Tabs value={tab ?? 'governs'} onChange={(value) => void navigate({ search: value === 'edit' ? { tab: 'edit' } : {}, replace: true })} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="governs">{t(propagation ? 'policies.governs' : 'policies.rules')}</Tabs.Tab>
          <Tabs.Tab value="edit">{t(policy.viewerCan.update ? 'policies.edit' : 'policies.spec')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="governs" pt="md">
          {propagation ? <Governs instance={instance} policy={propagation} /> : override && <Rules policy={override} />}
        </Tabs.Panel>
        <Tabs.Panel value="edit" pt="md">
          <Suspense fallback={<Skeleton h={400} />}>
            <Editor key={`${kind} ${namespace} ${name}`} of={key} manifest={policy.manifest} resourceVersion={policy.resourceVersion} mayUpdate={policy.viewerCan.update} done={refetch} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
