import { Badge, Button, Group, Paper, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { useEffect, useState, type ReactElement } from 'react';
import { useQuery } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Empty } from '../shared/Empty.tsx';
import { Freshness } from '../shared/Freshness.tsx';
import { ButtonLink } from '../shared/links.tsx';
import { Problem } from '../shared/Problem.tsx';
import { GrantDialog } from './GrantDialog.tsx';
import { AccessQuery } from './queries.ts';
import { RevokeDialog } from './RevokeDialog.tsx';
import { WhoMay } from './WhoMay.tsx';

export type Binding = NonNullable<ResultOf<typeof AccessQuery>['instance']>['roleBindings']['nodes'][number];

/** pause is how long the page waits before it asks again for what is not in effect yet, in milliseconds. */
const pause = 2000;

/** AccessPage shows who has which role on an instance, and gives roles and takes them away. */
export function AccessPage(): ReactElement {
  const t = useT();
  const { instance } = useParams({ from: '/instances/$instance/access' });
  const [{ data, error, fetching }, execute] = useQuery({ query: AccessQuery, variables: { instance } });
  const [granting, setGranting] = useState(false);
  const [revoking, setRevoking] = useState<Binding>();
  useEffect(() => {
    document.title = `${t('access.title')} · ${instance} · Kairship`;
  }, [instance, t]);
  const reload = (): void => execute({ requestPolicy: 'network-only' });
  const bindings = data?.instance?.roleBindings;
  const waiting = bindings?.nodes.some((b) => !b.ready || b.revoked) ?? false;
  useEffect(() => {
    // A role takes seconds to come into effect or to be taken away, and nothing reports it.
    if (!waiting) return undefined;
    const timer = window.setTimeout(() => execute({ requestPolicy: 'network-only' }), pause);
    return () => window.clearTimeout(timer);
  }, [waiting, bindings, execute]);
  const manages = data?.viewer.can.manageAccess ?? false;
  if (data?.instance === null && error === undefined) {
    return (
      <Empty title={t('instance.notFound')} hint={t('instance.notFoundHint')}>
        <ButtonLink to="/" variant="default" mt="md">{t('app.toFleet')}</ButtonLink>
      </Empty>
    );
  }
  return (
    <Stack gap="md" maw={1400}>
      <Group justify="space-between" align="baseline">
        <Title order={1}>{t('access.of', { instance })}</Title>
        <Group gap="sm">
          <Freshness of={bindings?.freshness} />
          {manages && <Button size="xs" onClick={() => setGranting(true)}>{t('access.grant')}</Button>}
        </Group>
      </Group>
      {bindings && !manages && <Text size="sm" className="kairship-dimmed">{t('access.ownOnly')}</Text>}
      <Problem error={error} part={bindings !== undefined} retry={reload} />
      {bindings === undefined && fetching && <Skeleton h={200} />}
      {bindings?.nodes.length === 0 && <Empty title={t('access.none')} hint={t('access.noneHint')} />}
      {bindings && bindings.nodes.length > 0 && (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={720} type="native">
            <Table verticalSpacing="xs" horizontalSpacing="md">
              <Table.Thead>
                <Table.Tr>
                  {([t('access.subject'), t('access.role'), t('access.namespaces'), t('access.source'), t('access.state')] as const).map((title) => (
                    <Table.Th key={title}>{title}</Table.Th>
                  ))}
                  {manages && <Table.Td />}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {bindings.nodes.map((b) => (
                  <Table.Tr key={b.name}>
                    <Table.Td>
                      <Text size="sm" fw={600}>{b.subject}</Text>
                      <Text size="xs" className="kairship-dimmed">{t(`access.kind.${b.subjectKind}`)}</Text>
                    </Table.Td>
                    <Table.Td>{t(`access.roles.${b.role}`)}</Table.Td>
                    <Table.Td>{b.namespaces.length === 0 ? t('access.whole') : b.namespaces.join(', ')}</Table.Td>
                    <Table.Td>{b.grantedBy === null ? t(`access.sources.${b.source}`) : t('access.by', { user: b.grantedBy })}</Table.Td>
                    <Table.Td>
                      <Badge className={`kairship-badge kairship-${b.ready ? 'teal' : 'orange'}`} variant="light" size="sm" radius="sm" title={b.conditions.find((c) => c.type === 'Ready')?.message}>
                        {t(b.revoked ? 'access.revoked' : b.ready ? 'access.holds' : 'access.waits')}
                      </Badge>
                    </Table.Td>
                    {manages && (
                      <Table.Td>
                        {b.source === 'DIRECT' && (
                          <Button variant="default" size="compact-xs" onClick={() => setRevoking(b)} aria-label={t('access.revokeOf', { subject: b.subject, role: t(`access.roles.${b.role}`) })}>
                            {t('access.revoke')}
                          </Button>
                        )}
                      </Table.Td>
                    )}
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
      {manages && <WhoMay instance={instance} />}
      {granting && <GrantDialog instance={instance} close={() => setGranting(false)} done={reload} />}
      {revoking && <RevokeDialog instance={instance} of={revoking} close={() => setRevoking(undefined)} done={reload} />}
    </Stack>
  );
}
