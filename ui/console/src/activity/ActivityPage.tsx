import { Badge, Button, Group, Paper, Select, Skeleton, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, type ReactElement } from 'react';

import { useLanguage, useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { Problem } from '../shared/Problem.tsx';
import { clock } from '../shared/time.ts';
import { outcomes, type ActivitySearch, type Outcome } from './search.ts';
import { useEntries, type Entry } from './useEntries.ts';

const colors: Record<Outcome, string> = { SUCCEEDED: 'teal', REFUSED: 'orange', FAILED: 'red' };

/** ActivityPage lists who changed what through Kairship, also what was refused, and what is added while it is open. */
export function ActivityPage(): ReactElement {
  const t = useT();
  const search = useSearch({ from: '/activity' });
  const navigate = useNavigate({ from: '/activity' });
  const { page, entries, error, fetching, more, retry } = useEntries(search);
  useEffect(() => {
    document.title = `${t('activity.title')} · Kairship`;
  }, [t]);
  const set = (part: keyof ActivitySearch, value: string | null): void =>
    void navigate({ search: (before: ActivitySearch) => ({ ...before, [part]: value === null || value === '' ? undefined : value }), replace: true });
  return (
    <Stack gap="md" maw={1400}>
      <Group justify="space-between" align="baseline">
        <Title order={1}>{t('activity.title')}</Title>
        <Freshness of={page?.freshness} />
      </Group>
      <Group gap="sm" align="flex-end">
        {(['instance', 'user', 'name'] as const).map((part) => (
          <TextInput key={part} label={t(`activity.filter.${part}`)} value={search[part] ?? ''} onChange={(event) => set(part, event.currentTarget.value)} size="xs" />
        ))}
        <Select
          label={t('activity.filter.outcome')}
          data={outcomes.map((value) => ({ value, label: t(`activity.outcome.${value}`) }))}
          value={search.outcome ?? null}
          onChange={(value) => set('outcome', value)}
          placeholder={t('activity.all')}
          clearable
          clearButtonProps={{ 'aria-label': t('activity.clear') }}
          size="xs"
        />
      </Group>
      <Problem error={error} part={page !== undefined} retry={retry} />
      {page === undefined && fetching && <Skeleton h={240} />}
      {page && entries.length === 0 && <Empty title={t('activity.none')} hint={t('activity.noneHint')} />}
      {entries.length > 0 && (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={820} type="native">
            <Table verticalSpacing="xs" horizontalSpacing="md">
              <Table.Thead>
                <Table.Tr>
                  {([t('activity.at'), t('activity.user'), t('activity.change'), t('activity.object'), t('activity.outcomeTitle')] as const).map((title) => (
                    <Table.Th key={title}>{title}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {entries.map((entry, i) => (
                  <Row key={`${entry.at} ${entries.length - i}`} of={entry} />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
      {more && (
        <Button variant="default" onClick={more}>
          {t('activity.more')}
        </Button>
      )}
    </Stack>
  );
}

function Row({ of }: { of: Entry }): ReactElement {
  const t = useT();
  const language = useLanguage();
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" className="kairship-dimmed">{clock(of.at, language, new Date())}</Text>
      </Table.Td>
      <Table.Td>{of.impersonatedUser === null ? of.user : t('activity.as', { user: of.user, impersonated: of.impersonatedUser })}</Table.Td>
      <Table.Td>
        <Text size="sm">{of.mutation ?? t('activity.native', { verb: of.verb })}</Text>
      </Table.Td>
      <Table.Td>{[of.instanceName, of.kind, [of.namespace, of.name].filter(Boolean).join('/')].filter(Boolean).join(' · ')}</Table.Td>
      <Table.Td>
        <Badge className={`kairship-badge kairship-${colors[of.outcome]}`} variant="light" size="sm" radius="sm">
          {t(`activity.outcome.${of.outcome}`)}
        </Badge>{' '}
        {of.code !== null && <Text span size="xs" className="kairship-dimmed">{of.code}</Text>}
      </Table.Td>
    </Table.Tr>
  );
}
