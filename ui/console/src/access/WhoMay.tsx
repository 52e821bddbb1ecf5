import { Button, Group, List, Paper, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useQuery } from 'urql';

import type { VariablesOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Problem } from '../shared/Problem.tsx';
import { WhoCanQuery } from './queries.ts';

type Question = VariablesOf<typeof WhoCanQuery>;

const verbs = ['GET', 'LIST', 'WATCH', 'CREATE', 'UPDATE', 'PATCH', 'DELETE'] as const satisfies readonly Question['verb'][];

/** WhoMay answers who may do something in the instance. */
export function WhoMay({ instance }: { instance: string }): ReactElement {
  const t = useT();
  const [verb, setVerb] = useState<Question['verb']>('UPDATE');
  const [resource, setResource] = useState('deployments.apps');
  const [namespace, setNamespace] = useState('');
  const [asked, setAsked] = useState<Question>();
  const [{ data, error, fetching }] = useQuery({ query: WhoCanQuery, variables: asked ?? { instance, namespace: null, verb, resource }, pause: asked === undefined });
  const subjects = asked && !fetching ? data?.whoCan?.subjects : undefined;
  return (
    <Stack gap="xs" component="section" aria-labelledby="who-may">
      <Title order={2} id="who-may">{t('access.whoMay')}</Title>
      <Paper withBorder p="md">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setAsked({ instance, verb, resource, namespace: namespace === '' ? null : namespace });
          }}
        >
          <Group gap="sm" align="flex-end">
            <Select label={t('access.verb')} data={[...verbs]} value={verb} onChange={(value) => value !== null && setVerb(value as Question['verb'])} allowDeselect={false} size="xs" />
            <TextInput label={t('access.resource')} value={resource} onChange={(event) => setResource(event.currentTarget.value)} required size="xs" />
            <TextInput label={t('access.inNamespace')} value={namespace} onChange={(event) => setNamespace(event.currentTarget.value)} size="xs" />
            <Button type="submit" size="xs" loading={fetching}>{t('access.ask')}</Button>
          </Group>
        </form>
        {asked && <Problem error={error} />}
        {subjects?.length === 0 && <Text size="sm" mt="sm">{t('access.whoMayNone')}</Text>}
        {subjects && subjects.length > 0 && (
          <List size="sm" mt="sm">
            {subjects.map((s) => (
              <List.Item key={`${s.kind} ${s.name}`}>
                {s.name} ({t(`access.kind.${s.kind}`)}): {[...new Set(s.bindings.map((b) => t(`access.roles.${b.role}`)))].join(', ')}
              </List.Item>
            ))}
          </List>
        )}
      </Paper>
    </Stack>
  );
}
