import { Badge, Button, Group, Paper, Stack, Table, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Problem } from '../shared/Problem.tsx';
import { age } from '../shared/time.ts';
import { useNow } from '../shared/useNow.ts';
import { useVersion } from '../shared/useVersion.ts';
import { ActionDialog } from './ActionDialog.tsx';
import type { Choice } from './actions.ts';
import type { Key } from './key.ts';
import type { Workload } from './layout.ts';
import { RevisionsQuery } from './queries.ts';

interface Props {
  of: Key;
  workload: Workload;
  /** version is what the revisions are asked for again with. */
  version: string;
  done: () => void;
}

/** Revisions are the pod templates that the clusters keep, each with a way back to it. */
export function Revisions({ of, workload, version, done }: Props): ReactElement {
  const t = useT();
  const now = useNow();
  const [back, setBack] = useState<Choice['revision']>();
  const [{ data, error }, execute] = useQuery({ query: RevisionsQuery, variables: of, context: useVersion(version) });
  const revisions = data?.instance?.workloadRevisions;
  return (
    <Stack gap="md">
      <Problem error={error} part={data !== undefined} retry={() => execute({ requestPolicy: 'network-only' })} />
      <Paper withBorder>
        {revisions && (revisions.nodes ?? []).length === 0 && <Empty title={t('workload.noRevisions')} {...(revisions.message !== null && { hint: revisions.message })} />}
        {(revisions?.nodes ?? []).length > 0 && (
          <Table.ScrollContainer minWidth={640} type="native">
            <Table verticalSpacing={6} horizontalSpacing="md">
              <Table.Thead>
                <Table.Tr>
                  {[t('fleet.cluster'), t('workload.revision'), t('workloads.age'), t('workloads.images'), t('action.more')].map((title) => (
                    <Table.Th key={title}>{title}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {revisions?.nodes?.map((revision) => (
                  <Table.Tr key={`${revision.clusterName} ${revision.number}`}>
                    <Table.Td>{revision.clusterName}</Table.Td>
                    <Table.Td>
                      <Group gap="xs">
                        {revision.number}
                        {revision.current && <Badge className="kairship-badge kairship-teal" variant="light" size="sm" radius="sm">{t('workload.currentRevision')}</Badge>}
                        {revision.overridden && <Badge className="kairship-badge kairship-gray" variant="light" size="sm" radius="sm">{t('workload.overridden')}</Badge>}
                      </Group>
                      {revision.changeCause !== null && <Text size="xs" className="kairship-dimmed">{revision.changeCause}</Text>}
                    </Table.Td>
                    <Table.Td>{age(revision.createdAt, now)}</Table.Td>
                    <Table.Td className="kairship-mono">{revision.images.join(', ')}</Table.Td>
                    <Table.Td>
                      {!revision.current && (
                        <Button
                          variant="default"
                          size="compact-sm"
                          disabled={!workload.viewerCan.update}
                          {...(!workload.viewerCan.update && { title: t('action.notAllowed') })}
                          onClick={() => setBack({ cluster: revision.clusterName, toRevision: revision.number })}
                        >
                          {t('action.rollback')}
                        </Button>
                      )}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
      </Paper>
      {back && <ActionDialog action="rollback" of={of} workload={workload} revision={back} close={() => setBack(undefined)} done={done} />}
    </Stack>
  );
}
