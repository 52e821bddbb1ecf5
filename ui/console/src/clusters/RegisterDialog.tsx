import { Alert, TextInput } from '@mantine/core';
import { useState, type ReactElement } from 'react';

import { useLanguage, useT } from '../app/i18n.ts';
import { Facts } from '../shared/Facts.tsx';
import { KubeconfigField } from '../shared/KubeconfigField.tsx';
import { clock } from '../shared/time.ts';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
import { Register } from './membership.ts';

/** RegisterDialog adds a cluster to the inventory. Its credentials are tried before they are stored. */
export function RegisterDialog({ close, done }: { close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const language = useLanguage();
  const [name, setName] = useState('');
  const [alias, setAlias] = useState('');
  const [kubeconfig, setKubeconfig] = useState('');
  const input = { cluster: name.trim(), kubeconfig, alias: alias.trim() || null };
  const trial = useTrial(Register, input, { fields: ['cluster', 'alias', 'kubeconfig'], close, done });
  const { tried, errors } = trial;
  return (
    <TrialDialog of={trial} title={t('clusters.register')} confirm={t('clusters.register')} complete={input.cluster !== '' && kubeconfig.trim() !== ''}>
      <TextInput label={t('workloads.name')} description={t('clusters.nameHint')} value={name} onChange={(event) => setName(event.currentTarget.value)} error={errors['cluster']} required data-autofocus />
      <TextInput label={t('clusters.alias')} value={alias} onChange={(event) => setAlias(event.currentTarget.value)} error={errors['alias']} />
      <KubeconfigField description={t('clusters.kubeconfigHint')} value={kubeconfig} onChange={setKubeconfig} error={errors['kubeconfig']} />
      {tried && (
        <Alert color={tried.mayJoin === false ? 'orange' : 'teal'} variant="light" className="kairship-alert" role="status" title={t('clusters.reached')}>
          <Facts
            of={[
              ['kube-system', tried.kubeSystemID ?? '–'],
              [t('clusters.mayJoin'), t(tried.mayJoin === false ? 'clusters.no' : 'clusters.yes')],
              [t('cluster.credentials'), tried.credentialsExpireTime ? clock(tried.credentialsExpireTime, language, new Date()) : t('cluster.noExpiry')],
            ]}
          />
        </Alert>
      )}
    </TrialDialog>
  );
}
