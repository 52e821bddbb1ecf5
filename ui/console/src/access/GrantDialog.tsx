import { Button, Group, Modal, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useState, type FormEvent, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import type { VariablesOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Problem } from '../shared/Problem.tsx';
import { Grant } from './queries.ts';

type Input = VariablesOf<typeof Grant>['input'];

const roles = ['VIEWER', 'EDITOR', 'ADMIN'] as const;
const kinds = ['USER', 'GROUP'] as const;

/** GrantDialog gives a role. The instance is asked whether it could, before it is given. */
export function GrantDialog({ instance, close, done }: { instance: string; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [subject, setSubject] = useState('');
  const [subjectKind, setSubjectKind] = useState<(typeof kinds)[number]>('USER');
  const [role, setRole] = useState<(typeof roles)[number]>('VIEWER');
  const [namespaces, setNamespaces] = useState<string[]>([]);
  const [tried, setTried] = useState<Input>();
  const [refused, setRefused] = useState<CombinedError>();
  const [busy, setBusy] = useState(false);
  const input: Input = { instance, subject: subject.trim(), subjectKind, role, namespaces: namespaces.length > 0 ? namespaces : null };
  const current = tried !== undefined && JSON.stringify(tried) === JSON.stringify(input);
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const result = await client.mutation(Grant, { input: { ...input, dryRun: !current } }).toPromise();
    setBusy(false);
    setRefused(result.error);
    if (result.error) return;
    if (!current) {
      setTried(input);
      return;
    }
    done();
    close();
  };
  return (
    <Modal opened onClose={close} title={t('access.grantOn', { instance })}>
      <form onSubmit={(event) => void send(event)}>
        <Stack gap="md">
          <Select label={t('access.subjectKind')} data={kinds.map((value) => ({ value, label: t(`access.kind.${value}`) }))} value={subjectKind} onChange={(value) => value !== null && setSubjectKind(value as (typeof kinds)[number])} allowDeselect={false} />
          <TextInput label={t('access.subject')} value={subject} onChange={(event) => setSubject(event.currentTarget.value)} required data-autofocus />
          <Select label={t('access.role')} data={roles.map((value) => ({ value, label: t(`access.roles.${value}`) }))} value={role} onChange={(value) => value !== null && setRole(value as (typeof roles)[number])} allowDeselect={false} />
          <TagsInput label={t('access.namespaces')} description={t('access.namespacesHint')} value={namespaces} onChange={setNamespaces} />
          {current && <Text size="sm" role="status">{t('access.accepted', { subject: input.subject, role: t(`access.roles.${role}`), instance })}</Text>}
          <Problem error={refused} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>{t('action.cancel')}</Button>
            <Button type="submit" loading={busy} disabled={input.subject === ''}>{t(current ? 'access.grant' : 'access.try')}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
