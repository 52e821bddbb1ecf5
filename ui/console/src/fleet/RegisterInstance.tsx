import { Text, TextInput } from '@mantine/core';
import { useState, type ReactElement } from 'react';

import { graphql } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { KubeconfigField } from '../shared/KubeconfigField.tsx';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
import { VersionField } from '../shared/VersionField.tsx';

const RegisterMutation = graphql(`
  mutation RegisterInstance($input: RegisterInstanceInput!) {
    registerInstance(input: $input) { instance { name } operation }
  }
`);

/** RegisterInstance adds an existing Karmada. It is tried first, and followed until it is in the index. */
export function RegisterInstance({ close, done }: { close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const [name, setName] = useState('');
  const [alias, setAlias] = useState('');
  const [version, setVersion] = useState('');
  const [kubeconfig, setKubeconfig] = useState('');
  const input = { instance: name.trim(), kubeconfig, alias: alias.trim() || null, karmadaVersion: version.trim() || null };
  const trial = useTrial(RegisterMutation, input, { fields: ['instance', 'kubeconfig', 'alias', 'karmadaVersion'], close, done });
  const { errors } = trial;
  return (
    <TrialDialog of={trial} title={t('fleet.register')} confirm={t('fleet.register')} complete={input.instance !== '' && kubeconfig.trim() !== ''}>
      <TextInput label={t('workloads.name')} value={name} onChange={(event) => setName(event.currentTarget.value)} error={errors['instance']} required data-autofocus />
      <TextInput label={t('clusters.alias')} value={alias} onChange={(event) => setAlias(event.currentTarget.value)} error={errors['alias']} />
      <VersionField versions={undefined} value={version} onChange={setVersion} error={errors['karmadaVersion']} />
      <KubeconfigField description={t('fleet.kubeconfigHint')} value={kubeconfig} onChange={setKubeconfig} error={errors['kubeconfig']} />
      {trial.tried && <Text size="sm" role="status">{t('fleet.reached')}</Text>}
    </TrialDialog>
  );
}
