import { Badge, Group, Table, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { AnchorLink } from '../shared/links.tsx';
import { noNamespace } from './kinds.ts';
import type { Row } from './rows.ts';

/** shown is how many selectors or clusters a line lists. */
const shown = 3;

function Lines({ of }: { of: readonly string[] }): ReactElement {
  return (
    <div title={of.length > shown ? of.join('\n') : undefined}>
      {of.slice(0, shown).map((text) => (
        <Text key={text} size="sm" className="kairship-line">
          {text}
        </Text>
      ))}
      {of.length > shown && (
        <Text size="xs" className="kairship-dimmed">
          +{of.length - shown}
        </Text>
      )}
    </div>
  );
}

/** PolicyTable is the list of policies; each leads to its page. */
export function PolicyTable({ rows }: { rows: readonly Row[] }): ReactElement {
  const t = useT();
  return (
    <Table.ScrollContainer minWidth={760} type="native">
      <Table verticalSpacing={8} horizontalSpacing="md" highlightOnHover className="kairship-policies">
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="25%">{t('policies.policy')}</Table.Th>
            <Table.Th w="30%">{t('policies.selects')}</Table.Th>
            <Table.Th w="25%">{t('policies.clusters')}</Table.Th>
            <Table.Th>{t('policies.governs')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={`${row.kind} ${row.namespace} ${row.name}`}>
              <Table.Td>
                <AnchorLink to="/instances/$instance/policies/$kind/$namespace/$name" params={{ ...row, namespace: row.namespace ?? noNamespace }} size="sm" fw={600}>
                  {row.namespace !== null && `${row.namespace}/`}
                  {row.name}
                </AnchorLink>
                <Text size="xs" className="kairship-dimmed">
                  {t(`policies.kind.${row.kind}`)}
                  {row.deleting && ` · ${t('policies.deleting')}`}
                </Text>
              </Table.Td>
              <Table.Td>
                <Lines of={row.selects} />
              </Table.Td>
              <Table.Td>
                <Lines of={row.clusters} />
                {row.divided === 'DIVIDED' && (
                  <Text size="xs" className="kairship-dimmed">
                    {t('policies.divided')}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>
                {row.workloads === null ? (
                  <Text size="sm" className="kairship-dimmed">
                    –
                  </Text>
                ) : (
                  <Group gap={6} wrap="nowrap">
                    <Text size="sm">{t('fleet.workloads', { count: row.workloads })}</Text>
                    {(row.unwell ?? 0) > 0 && (
                      <Badge className="kairship-badge kairship-red" variant="light" size="sm" radius="sm">
                        {t('policies.unwell', { count: row.unwell ?? 0 })}
                      </Badge>
                    )}
                  </Group>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
