import { Code, Paper, Stack, Table, Text, Title } from '@mantine/core';
import type { ReactElement } from 'react';
import { useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { Problem } from '../shared/Problem.tsx';
import type { Key } from './key.ts';
import { ManifestQuery } from './queries.ts';

/** Manifest is the template, and where clusters differ from what Karmada sent them. */
export function Manifest({ of }: { of: Key }): ReactElement {
  const t = useT();
  const [{ data, error }, execute] = useQuery({ query: ManifestQuery, variables: of });
  const workload = data?.instance?.workload;
  const drifted = workload?.placements.filter((p) => p.drift?.drifted) ?? [];
  return (
    <Stack gap="md">
      <Problem error={error} part={data !== undefined} retry={() => execute({ requestPolicy: 'network-only' })} />
      <Stack gap="xs" component="section" aria-label={t('workload.drift')}>
        <Title order={2}>{t('workload.drift')}</Title>
        {workload && drifted.length === 0 && <Text size="sm" className="kairship-dimmed">{t('workload.noDrift')}</Text>}
        {drifted.map((p) => (
          <Paper key={p.clusterName} withBorder p="md">
            <Text size="sm" fw={600}>{p.clusterName}</Text>
            <Text size="sm">{p.drift?.message}</Text>
            <Table.ScrollContainer minWidth={560} type="native">
              <Table verticalSpacing={4}>
                <Table.Thead>
                  <Table.Tr>
                    {[t('workload.field'), t('workload.sent'), t('workload.found'), t('workload.manager')].map((title) => (
                      <Table.Th key={title}>{title}</Table.Th>
                    ))}
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {p.drift?.fields.map((field) => (
                    <Table.Tr key={field.path} className="kairship-mono">
                      <Table.Td>{field.path}</Table.Td>
                      <Table.Td>{field.sent ?? '–'}</Table.Td>
                      <Table.Td>{field.found ?? '–'}</Table.Td>
                      <Table.Td>{field.manager?.name ?? '–'}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          </Paper>
        ))}
      </Stack>
      <Stack gap="xs" component="section" aria-label={t('workload.template')}>
        <Title order={2}>{t('workload.template')}</Title>
        <Code block className="kairship-log" tabIndex={0}>
          {workload?.yaml ?? ''}
        </Code>
      </Stack>
    </Stack>
  );
}
