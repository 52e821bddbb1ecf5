import { Group, Paper, SegmentedControl, Select, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState, type ReactElement } from 'react';
import { useQuery, useSubscription } from 'urql';

import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { Problem } from '../shared/Problem.tsx';
import { useRefetch } from '../shared/useRefetch.ts';
import { propagates } from './kinds.ts';
import { PolicyTable } from './PolicyTable.tsx';
import { InstanceNamesQuery, PoliciesQuery, PolicyChanges } from './queries.ts';
import { rowsOf, totalOf } from './rows.ts';
import type { PoliciesSearch } from './search.ts';

/** PoliciesPage lists the policies of an instance: what each selects, where it places it, and how that goes. */
export function PoliciesPage(): ReactElement {
  const t = useT();
  const search = useSearch({ from: '/policies' });
  const navigate = useNavigate({ from: '/policies' });
  const [names] = useQuery({ query: InstanceNamesQuery });
  const instances = names.data?.instances.nodes;
  const instance = search.instance ?? instances?.[0]?.name;
  const filter = useMemo(() => (search.text ? { nameContains: search.text } : {}), [search.text]);
  const [{ data, error, fetching }, execute] = useQuery({ query: PoliciesQuery, variables: { instance: instance ?? '', filter }, pause: instance === undefined });
  const refetch = useRefetch(() => execute({ requestPolicy: 'network-only' }));
  const changes = useMemo(() => ({ instances: [instance ?? ''] }), [instance]);
  useSubscription({ query: PolicyChanges, variables: { filter: changes }, pause: instance === undefined }, () => refetch());
  useEffect(() => {
    document.title = `${t('policies.title')} · Kairship`;
  }, [t]);

  const change = (part: Partial<PoliciesSearch>): void => void navigate({ search: (before: PoliciesSearch) => ({ ...before, ...part }), replace: true });
  const [text, setText] = useState(search.text ?? '');
  const later = useDebouncedCallback((value: string) => change({ text: value.trim() || undefined }), 300);
  const found = data?.instance ?? undefined;
  const all = found ? rowsOf(found, t) : [];
  const rows = search.show === undefined ? all : all.filter((row) => propagates(row.kind) === (search.show === 'propagation'));
  return (
    <Stack gap="md" maw={1500}>
      <Group justify="space-between" align="baseline">
        <Title order={1}>{t('policies.title')}</Title>
        <Freshness of={found?.propagationPolicies.freshness} />
      </Group>
      <Group gap="sm">
        <Select
          aria-label={t('policies.instance')}
          data={instances?.map((i) => ({ value: i.name, label: i.alias ?? i.name })) ?? []}
          value={instance ?? null}
          onChange={(value) => value && change({ instance: value })}
          allowDeselect={false}
          searchable
          w={{ base: '100%', xs: 180 }}
        />
        <TextInput
          aria-label={t('policies.search')}
          placeholder={t('policies.search')}
          value={text}
          w={{ base: '100%', xs: 240 }}
          onChange={(event) => {
            setText(event.currentTarget.value);
            later(event.currentTarget.value);
          }}
        />
        <SegmentedControl
          aria-label={t('policies.show')}
          data={[
            { value: 'all', label: t('policies.all') },
            { value: 'propagation', label: t('policies.propagation') },
            { value: 'override', label: t('policies.override') },
          ]}
          value={search.show ?? 'all'}
          onChange={(value) => change({ show: value === 'propagation' || value === 'override' ? value : undefined })}
        />
        {instance !== undefined && instances?.find((i) => i.name === instance)?.viewerCan.create && (
          <ButtonLink to="/instances/$instance/new-policy" params={{ instance }} variant="default">
            {t('policies.new')}
          </ButtonLink>
        )}
        <Text size="sm" ml="auto" role="status">
          {found ? t('policies.total', { count: search.show === undefined ? totalOf(found) : rows.length }) : ''}
        </Text>
      </Group>
      <Problem error={names.error ?? error} part={found !== undefined} retry={refetch} />
      {found === undefined && (fetching || names.fetching) && <Skeleton h={300} />}
      {instances?.length === 0 && <Empty title={t('fleet.noInstances')} hint={t('fleet.noInstancesHint')} />}
      {found && (
        <Paper withBorder>
          {rows.length === 0 ? <Empty title={t('policies.none')} hint={t(search.text ? 'policies.noneMatch' : 'policies.noneHint')} /> : <PolicyTable rows={rows} />}
        </Paper>
      )}
    </Stack>
  );
}
