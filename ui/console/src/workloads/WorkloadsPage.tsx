import { Button, Drawer, Group, Menu, Paper, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDebouncedCallback, useDisclosure, useMediaQuery } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useState, type ReactElement } from 'react';
import { useQuery, useSubscription } from 'urql';

import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { Problem } from '../shared/Problem.tsx';
import { RefusedButton } from '../shared/RefusedButton.tsx';
import { MayChange } from './bulk.ts';
import { columns, readHidden, shownColumns, writeHidden } from './columns.tsx';
import { Facets } from './Facets.tsx';
import { WorkloadChanges } from './queries.ts';
import { SavedViews } from './SavedViews.tsx';
import { filterOf, orderOf, type Filter, type Order, type Search } from './search.ts';
import { Table } from './Table.tsx';
import { usePages } from './usePages.ts';

const BulkDialog = lazy(() => import('./BulkDialog.tsx').then((module) => ({ default: module.BulkDialog })));

/** followed is how large a list may be whose changes are followed: a subscription begins with all that there is. */
const followed = 2000;

/** WorkloadsPage lists the workloads of all instances. Rows change in their place; what is new waits for the reader. */
export function WorkloadsPage(): ReactElement {
  const t = useT();
  const search = useSearch({ from: '/workloads' });
  const navigate = useNavigate({ from: '/workloads' });
  const [hidden, setHidden] = useState(readHidden);
  const [drawer, { open, close }] = useDisclosure();
  const isNarrow = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false });
  const filter = useMemo(() => filterOf(search), [search]);
  const order = useMemo(() => orderOf(search), [search]);
  const { rows, first, error, reading, more, reload, replace } = usePages(filter, order);
  const [bulk, setBulk] = useState<Filter>();
  const [changeable] = useQuery({ query: MayChange });
  const mayChange = changeable.data?.instances.nodes.some((i) => i.viewerCan.create) ?? false;
  const [waiting, setWaiting] = useState(0);
  useEffect(() => {
    document.title = `${t('workloads.title')} · Kairship`;
  }, [t]);
  useEffect(() => setWaiting(0), [first]);

  const total = first?.totalCount ?? 0;
  const [synced, setSynced] = useState(false);
  useSubscription({ query: WorkloadChanges, variables: { filter }, pause: first === undefined || total > followed }, (_, event) => {
    const { type, workload } = event.workloadChanged;
    if (type === 'SYNCED') setSynced(true);
    else if (type === 'GAP') setSynced(false);
    else if (workload && type === 'MODIFIED') replace(workload);
    else if (synced && (type === 'ADDED' || type === 'DELETED')) setWaiting((n) => n + 1);
    return event;
  });

  const change = (part: Partial<Search>): void => void navigate({ search: (before: Search) => ({ ...before, ...part }), replace: true });
  const sort = (field: Order['field']): void => change({ sort: field, descending: order.field === field && order.direction !== 'DESC' ? true : undefined });
  const toggle = (name: string): void => {
    const next = hidden.includes(name) ? hidden.filter((n) => n !== name) : [...hidden, name];
    setHidden(next);
    writeHidden(next);
  };
  const facets = <Facets facets={first?.facets ?? []} search={search} change={change} />;
  return (
    <Stack gap="md" className="kairship-page">
      <Group justify="space-between" align="baseline">
        <Title order={1}>{t('workloads.title')}</Title>
        <Freshness of={first?.freshness} />
      </Group>
      <Group gap="sm" align="flex-end">
        <Texts search={search} change={change} />
        <Button variant="default" onClick={open} hiddenFrom="sm">
          {t('workloads.filters')}
        </Button>
        {!isNarrow && (
          <Menu closeOnItemClick={false}>
            <Menu.Target>
              <Button variant="default">{t('workloads.columns')}</Button>
            </Menu.Target>
            <Menu.Dropdown>
              {columns.slice(1).map((c) => (
                <Menu.Item key={c.name} role="menuitemcheckbox" aria-checked={!hidden.includes(c.name)} onClick={() => toggle(c.name)} rightSection={hidden.includes(c.name) ? undefined : '✓'}>
                  {t(`workloads.${c.name}`)}
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        )}
        {Object.keys(filter).length > 0 && (
          <Button variant="subtle" onClick={() => void navigate({ search: {} })}>
            {t('workloads.clear')}
          </Button>
        )}
        {mayChange ? (
          <Button variant="default" disabled={total === 0} onClick={() => setBulk(filter)}>
            {t('bulk.open')}
          </Button>
        ) : (
          <RefusedButton label={t('bulk.open')} reason={t('action.notAllowed')} />
        )}
        <SavedViews search={search} />
        <Text size="sm" ml="auto" role="status">
          {first ? t('workloads.total', { count: total }) : ''}
        </Text>
      </Group>
      <Problem error={error} part={rows.length > 0} retry={reload} />
      <Group align="stretch" gap="md" wrap="nowrap" className="kairship-fill">
        <Paper withBorder p="md" w={230} visibleFrom="sm" className="kairship-facets" component="aside" aria-label={t('workloads.filters')}>
          {facets}
        </Paper>
        <Paper withBorder flex={1} miw={0} className="kairship-list-frame">
          {waiting > 0 && (
            <Group px="sm" py={6} gap="sm">
              <Text size="sm">{t('workloads.changed', { count: waiting })}</Text>
              <Button size="compact-xs" onClick={reload}>
                {t('workloads.show')}
              </Button>
            </Group>
          )}
          {first === undefined && reading && <Skeleton h={300} />}
          {first !== undefined && rows.length === 0 ? (
            <Empty title={t('workloads.none')} hint={t('workloads.noneHint')} />
          ) : (
            <Table rows={rows} total={total} columns={shownColumns(hidden, isNarrow)} order={order} sort={sort} more={more} reading={reading} />
          )}
        </Paper>
      </Group>
      {bulk && (
        <Suspense>
          <BulkDialog filter={bulk} count={total} close={() => setBulk(undefined)} done={reload} />
        </Suspense>
      )}
      <Drawer opened={drawer} onClose={close} title={t('workloads.filters')} position="bottom" size="80%">
        {facets}
      </Drawer>
    </Stack>
  );
}

/** Texts are what is typed; the list follows when the typing pauses. */
function Texts({ search, change }: { search: Search; change: (part: Partial<Search>) => void }): ReactElement {
  const t = useT();
  const [text, setText] = useState(search.text ?? '');
  const [labels, setLabels] = useState(search.labels ?? '');
  // A view, or what clears the filters, changes them too.
  useEffect(() => setText((typed) => (typed.trim() === (search.text ?? '') ? typed : (search.text ?? ''))), [search.text]);
  useEffect(() => setLabels((typed) => (typed.trim() === (search.labels ?? '') ? typed : (search.labels ?? ''))), [search.labels]);
  const later = useDebouncedCallback((part: Partial<Search>) => change(part), 400);
  return (
    <>
      <TextInput
        aria-label={t('workloads.search')}
        placeholder={t('workloads.search')}
        value={text}
        w={{ base: '100%', sm: 280 }}
        onChange={(event) => {
          setText(event.currentTarget.value);
          later({ text: event.currentTarget.value.trim() || undefined });
        }}
      />
      <TextInput
        aria-label={t('workloads.labels')}
        placeholder={t('workloads.labelsHint')}
        value={labels}
        w={{ base: '100%', sm: 240 }}
        onChange={(event) => {
          setLabels(event.currentTarget.value);
          later({ labels: event.currentTarget.value.trim() || undefined });
        }}
      />
    </>
  );
}
