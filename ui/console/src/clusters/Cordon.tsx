import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useClient, useQuery, type CombinedError } from 'urql';

import { useT } from '../app/i18n.ts';
import { Dialog } from '../shared/Dialog.tsx';
import { Problem } from '../shared/Problem.tsx';
import { RefusedButton } from '../shared/RefusedButton.tsx';
import { LossResult } from './Loss.tsx';
import { isCordoned, type Member, type MemberKey } from './member.ts';
import { Cordon, LossQuery, Uncordon } from './memberQueries.ts';

interface Props {
  of: MemberKey;
  member: Member;
  may: boolean;
  done: () => void;
}

/** CordonButton has nothing new scheduled to a cluster, or again, and shows before what that would do. */
export function CordonButton({ of, member, may, done }: Props): ReactElement {
  const t = useT();
  const [opened, setOpened] = useState(false);
  const label = t(isCordoned(member.taints) ? 'cluster.uncordon' : 'cluster.cordon');
  if (!may) return <RefusedButton label={label} reason={t('action.notAllowed')} size="xs" />;
  return (
    <>
      <Button variant="default" size="xs" onClick={() => setOpened(true)}>
        {label}
      </Button>
      {opened && <CordonDialog of={of} member={member} label={label} close={() => setOpened(false)} done={done} />}
    </>
  );
}

function CordonDialog({ of, member, label, close, done }: Omit<Props, 'may'> & { label: string; close: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [cordoned] = useState(() => isCordoned(member.taints));
  const [{ data, error, fetching }, again] = useQuery({ query: LossQuery, variables: { ...of, mode: 'CORDON', assume: null }, pause: cordoned });
  const [refused, setRefused] = useState<CombinedError>();
  const [busy, setBusy] = useState(false);
  const preview = data?.instance?.clusterLossPreview;
  const confirm = async (): Promise<void> => {
    setBusy(true);
    const result = cordoned
      ? await client.mutation(Uncordon, { input: of }).toPromise()
      : await client.mutation(Cordon, { input: { ...of, expect: preview?.fingerprint ?? null } }).toPromise();
    setBusy(false);
    setRefused(result.error);
    if (result.error) {
      if (!cordoned) again({ requestPolicy: 'network-only' }); // It may do something else by now.
      return;
    }
    done();
    close();
  };
  return (
    <Dialog close={close} title={`${label} · ${of.name}`} size="lg">
      <Stack gap="md">
        <Text size="sm">{t(cordoned ? 'cluster.uncordonHint' : 'cluster.lossHint.CORDON')}</Text>
        {!cordoned && (fetching ? <Skeleton h={80} /> : <Problem error={error} part={preview != null} />)}
        {!fetching && preview && <LossResult of={preview} />}
        <Problem error={refused} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('action.cancel')}
          </Button>
          <Button loading={busy} disabled={!cordoned && (fetching || preview == null)} onClick={() => void confirm()} data-autofocus>
            {label}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
