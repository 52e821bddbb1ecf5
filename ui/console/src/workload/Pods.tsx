import { Badge, Button, Paper, Stack, Table, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Problem } from '../shared/Problem.tsx';
import { RefusedButton } from '../shared/RefusedButton.tsx';
import { age } from '../shared/time.ts';
import { useNow } from '../shared/useNow.ts';
import { useVersion } from '../shared/useVersion.ts';
import type { Key } from './key.ts';
import { Logs } from './Logs.tsx';
import { PodsQuery } from './queries.ts';
import { TerminalDialog } from './TerminalDialog.tsx';

/** Pods are those of all clusters, with what they write. version is asked again for. */
export function Pods({ of, version }: { of: Key; version: string }): ReactElement {
  const t = useT();
  const now = useNow();
  const [{ data, error }, execute] = useQuery({ query: PodsQuery, variables: of, context: useVersion(version) });
  const [terminal, setTerminal] = useState<{ clusterName: string; pod: string; containers: string[] }>();
  const mayRun = data?.instance?.viewerCan.proxy === true;
  const pods = data?.instance?.workload?.placements.flatMap((p) => (p.object?.pods ?? []).map((pod) => ({ ...pod, clusterName: p.clusterName }))) ?? [];
  return (
    <Stack gap="md">
      <Problem error={error} part={data !== undefined} retry={() => execute({ requestPolicy: 'network-only' })} />
      <Paper withBorder>
        {data && pods.length === 0 && <Empty title={t('workload.noPods')} />}
        {pods.length > 0 && (
          <Table.ScrollContainer minWidth={640} type="native">
            <Table verticalSpacing={6} horizontalSpacing="md">
              <Table.Thead>
                <Table.Tr>
                  {[t('workloads.name'), t('fleet.cluster'), t('workload.phase'), t('workload.restarts'), t('workload.node'), t('workloads.age'), t('terminal.open')].map((title) => (
                    <Table.Th key={title}>{title}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {pods.map((pod) => (
                  <Table.Tr key={pod.uid}>
                    <Table.Td className="kairship-mono">
                      {pod.name}
                      {pod.message !== null && <Text size="xs" className="kairship-warning">{pod.message}</Text>}
                    </Table.Td>
                    <Table.Td>{pod.clusterName}</Table.Td>
                    <Table.Td>
                      <Badge className={`kairship-badge kairship-${pod.ready || pod.phase === 'SUCCEEDED' ? 'teal' : pod.phase === 'FAILED' ? 'red' : 'orange'}`} variant="light" size="sm" radius="sm">
                        {pod.phase}
                      </Badge>
                    </Table.Td>
                    <Table.Td>{pod.restarts}</Table.Td>
                    <Table.Td>{pod.nodeName ?? '–'}</Table.Td>
                    <Table.Td>{age(pod.createdAt, now)}</Table.Td>
                    <Table.Td>
                      {pod.phase === 'RUNNING' && !mayRun && <RefusedButton label={t('terminal.open')} reason={t('action.notAllowed')} size="compact-xs" />}
                      {pod.phase === 'RUNNING' && mayRun && (
                        <Button
                          size="compact-xs"
                          variant="default"
                          aria-label={t('terminal.openIn', { pod: pod.name })}
                          onClick={() => setTerminal({ clusterName: pod.clusterName, pod: pod.name, containers: running(pod.containers) })}
                        >
                          {t('terminal.open')}
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
      <Logs of={of} />
      {terminal && (
        <TerminalDialog
          of={{ instance: of.instance, namespace: of.namespace, clusterName: terminal.clusterName, pod: terminal.pod }}
          containers={terminal.containers}
          close={() => setTerminal(undefined)}
        />
      )}
    </Stack>
  );
}

/** running is the containers that a command can run in, those that do the pod's work first. */
function running(containers: readonly { name: string; type: string; state: string }[]): string[] {
  return containers.filter((c) => c.state === 'RUNNING').sort((a, b) => Number(b.type === 'MAIN') - Number(a.type === 'MAIN')).map((c) => c.name);
}
