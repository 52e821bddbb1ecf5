import { Badge, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useState, type FormEvent, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import { graphql, type ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Operation } from '../shared/Operation.tsx';
import { Problem } from '../shared/Problem.tsx';
import { VersionField } from '../shared/VersionField.tsx';

const UpgradeMutation = graphql(`
  mutation UpgradeInstance($input: UpdateInstanceInput!) {
    updateInstance(input: $input) { operation checks { name passed message } }
  }
`);

type Checks = NonNullable<ResultOf<typeof UpgradeMutation>['updateInstance']>['checks'];

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
  const client = useClient();
  const [version, setVersion] = useState(versions.at(0) ?? '');
  const [tried, setTried] = useState<{ of: string; checks: Checks }>();
  const [operation, setOperation] = useState<string>();
  const [refused, setRefused] = useState<CombinedError>();
  const [busy, setBusy] = useState(false);
  const current = tried?.of === version ? tried : undefined;
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const { data, error } = await client
      .mutation(UpgradeMutation, { input: { instance: name, resourceVersion, karmadaVersion: version.trim(), dryRun: current === undefined } })
      .toPromise();
    setBusy(false);
    setRefused(error);
    const payload = data?.updateInstance;
    if (error || !payload) return;
    if (current === undefined) {
      setTried({ of: version, checks: payload.checks });
      return;
    }
    done();
    if (payload.operation === null) close();
    else setOperation(payload.operation);
  };
  return (
    <Modal opened onClose={close} title={`${t('instance.upgrade')} ${name}`} size="lg">
      <form onSubmit={(event) => void send(event)}>
        <Stack gap="md">
          {operation !== undefined ? (
            <Operation id={operation} done={done} />
          ) : (
            <>
              <VersionField versions={versions.length > 0 ? versions : undefined} required value={version} onChange={setVersion} />
              {current?.checks.map((check) => (
                <Group key={check.name} gap="xs" wrap="nowrap" align="flex-start">
                  <Badge className={`kairship-badge kairship-${check.passed ? 'teal' : 'orange'}`} variant="light" size="sm" radius="sm">
                    {t(check.passed ? 'instance.passed' : 'instance.notPassed')}
                  </Badge>
                  <Text size="sm">{check.message}</Text>
                </Group>
              ))}
            </>
          )}
          <Problem error={refused} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(operation === undefined ? 'action.cancel' : 'bulk.close')}
            </Button>
            {operation === undefined && (
              <Button type="submit" loading={busy} disabled={version.trim() === ''} color={current?.checks.some((check) => !check.passed) ? 'orange' : undefined}>
                {t(current ? 'instance.upgrade' : 'access.try')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
