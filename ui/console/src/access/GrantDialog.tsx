import { Select, TagsInput, Text, TextInput } from '@mantine/core';
import { useState, type ReactElement } from 'react';

import type { VariablesOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
import { Grant } from './queries.ts';

type Input = VariablesOf<typeof Grant>['input'];

const roles = ['VIEWER', 'EDITOR', 'ADMIN'] as const;
const kinds = ['USER', 'GROUP'] as const;

/** GrantDialog gives a role. The instance is asked whether it could, before it is given. */
export function GrantDialog({ instance, close, done }: { instance: string; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const [subject, setSubject] = useState('');
  const [subjectKind, setSubjectKind] = useState<(typeof kinds)[number]>('USER');
  const [role, setRole] = useState<(typeof roles)[number]>('VIEWER');
  const [namespaces, setNamespaces] = useState<string[]>([]);
  const input: Input = { instance, subject: subject.trim(), subjectKind, role, namespaces: namespaces.length > 0 ? namespaces : null };
  const trial = useTrial(Grant, input, { fields: ['subject', 'subjectKind', 'role', 'namespaces'], close, done });
  const { errors } = trial;
  return (
    <TrialDialog of={trial} title={t('access.grantOn', { instance })} confirm={t('access.grant')} complete={input.subject !== ''}>
      <Select
        label={t('access.subjectKind')}
        data={kinds.map((value) => ({ value, label: t(`access.kind.${value}`) }))}
        value={subjectKind}
        onChange={(value) => value !== null && setSubjectKind(value as (typeof kinds)[number])}
        error={errors['subjectKind']}
        allowDeselect={false}
      />
      <TextInput label={t('access.subject')} value={subject} onChange={(event) => setSubject(event.currentTarget.value)} error={errors['subject']} required data-autofocus />
      <Select
        label={t('access.role')}
        data={roles.map((value) => ({ value, label: t(`access.roles.${value}`) }))}
        value={role}
        onChange={(value) => value !== null && setRole(value as (typeof roles)[number])}
        error={errors['role']}
        allowDeselect={false}
      />
      <TagsInput label={t('access.namespaces')} description={t('access.namespacesHint')} value={namespaces} onChange={setNamespaces} error={errors['namespaces']} />
      {trial.tried && <Text size="sm" role="status">{t('access.accepted', { subject: input.subject, role: t(`access.roles.${role}`), instance })}</Text>}
    </TrialDialog>
  );
}
