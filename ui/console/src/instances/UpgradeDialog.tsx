import { Badge, Group, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';

import { graphql } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { TrialDialog } from '../shared/TrialDialog.tsx';
import { useTrial } from '../shared/useTrial.ts';
import { VersionField } from '../shared/VersionField.tsx';

const UpgradeMutation = graphql(`
  mutation UpgradeInstance($input: UpdateInstanceInput!) {
    updateInstance(input: $input) { operation checks { name passed message } }
  }
`);

interface Props {
  name: string;
  resourceVersion: string;
  /** versions are those that can be installed next; none where they are not limited. */
  versions: string[];
  close: () => void;
  done: () => void;
}

/** UpgradeDialog has another version of Karmada installed: what was found out before is shown first, and the progress afterwards. */
export function UpgradeDialog({ name, resourceVersion, versions, close, done }: Props): ReactElement {
  const t = useT();
  const [version, setVersion] = useState(versions.at(0) ?? '');
  const trial = useTrial(UpgradeMutation, { instance: name, resourceVersion, karmadaVersion: version.trim() }, { fields: ['karmadaVersion'], close, done });
  const checks = trial.tried?.checks ?? [];
  const color = checks.some((check) => !check.passed) ? 'orange' : undefined;
  return (
    <TrialDialog of={trial} title={`${t('instance.upgrade')} ${name}`} confirm={t('instance.upgrade')} complete={version.trim() !== ''} color={color}>
      <VersionField versions={versions.length > 0 ? versions : undefined} required value={version} onChange={setVersion} error={trial.errors['karmadaVersion']} />
      {checks.map((check) => (
        <Group key={check.name} gap="xs" wrap="nowrap" align="flex-start">
          <Badge className={`kairship-badge kairship-${check.passed ? 'teal' : 'orange'}`} variant="light" size="sm" radius="sm">
            {t(check.passed ? 'instance.passed' : 'instance.notPassed')}
          </Badge>
          <Text size="sm">{check.message}</Text>
        </Group>
      ))}
    </TrialDialog>
  );
}
