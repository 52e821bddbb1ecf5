import { Badge, Button, Group, NumberInput, ScrollArea, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useState, type FormEvent, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Dialog } from '../shared/Dialog.tsx';
import { Problem } from '../shared/Problem.tsx';
import { bulkActions, ChangeWorkloads, inputOf, type Bulk } from './bulk.ts';
import type { Filter } from './search.ts';

type Payload = NonNullable<ResultOf<typeof ChangeWorkloads>['changeWorkloads']>;
type Result = Payload['results'][number];

/** mostShown is how many results are listed: those that failed come first. */
const mostShown = 100;

/** BulkDialog does one thing with all workloads that the filters hit, after it has shown what that would be. */
export function BulkDialog({ filter, count, close, done }: { filter: Filter; count: number; close: () => void; done: () => void }): ReactElement {
  const t = useT();
  const client = useClient();
  const [bulk, setBulk] = useState<Bulk>({ action: 'RESTART', replicas: 1, container: '', image: '', labels: [], maxFailedPercent: 10 });
  const [tried, setTried] = useState<{ of: Bulk; payload: Payload }>();
  const [finished, setFinished] = useState<Payload>();
  const [refused, setRefused] = useState<CombinedError>();
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const current = tried?.of === bulk ? tried.payload : undefined;
  const complete = bulk.action === 'SET_IMAGE' ? bulk.container.trim() !== '' && bulk.image.trim() !== '' : bulk.action !== 'LABEL' || bulk.labels.length > 0;
  const confirmed = bulk.action !== 'DELETE' || typed === String(current?.total);

  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const input = current ? { ...inputOf(filter, bulk), expect: current.fingerprint } : { ...inputOf(filter, bulk), dryRun: true };
    const result = await client.mutation(ChangeWorkloads, { input }).toPromise();
    setBusy(false);
    setRefused(result.error);
    const payload = result.data?.changeWorkloads;
    if (!payload) return;
    if (!current) setTried({ of: bulk, payload });
    else {
      setFinished(payload);
      done();
    }
  };
  return (
    <Dialog close={close} size="lg" title={t('bulk.title', { count })}>
      <form onSubmit={(event) => void send(event)}>
        <Stack gap="md">
          {finished === undefined && <Choices bulk={bulk} change={(part) => setBulk({ ...bulk, ...part })} />}
          {(finished ?? current) && <Results of={(finished ?? current) as Payload} title={t(finished ? 'bulk.did' : 'bulk.would')} />}
          {finished === undefined && current && bulk.action === 'DELETE' && (
            <TextInput label={t('bulk.typeCount', { count: current.total })} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} data-autofocus />
          )}
          <Problem error={refused} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(finished ? 'bulk.close' : 'action.cancel')}
            </Button>
            {finished === undefined && (
              <Button type="submit" color={bulk.action === 'DELETE' && current ? 'red' : undefined} loading={busy} disabled={!complete || (current !== undefined && (current.changed === 0 || !confirmed))}>
                {current ? t('bulk.confirm', { count: current.changed }) : t('bulk.try')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function Choices({ bulk, change }: { bulk: Bulk; change: (part: Partial<Bulk>) => void }): ReactElement {
  const t = useT();
  return (
    <>
      <Select
        label={t('bulk.action')}
        data={bulkActions.map((value) => ({ value, label: t(`bulk.actions.${value}`) }))}
        value={bulk.action}
        onChange={(value) => value !== null && change({ action: value as Bulk['action'] })}
        allowDeselect={false}
        data-autofocus
      />
      {bulk.action === 'SCALE' && (
        <NumberInput label={t('action.replicas')} min={0} max={10_000} value={bulk.replicas} onChange={(value) => change({ replicas: Number(value) || 0 })} />
      )}
      {bulk.action === 'SET_IMAGE' && (
        <Group grow>
          <TextInput label={t('action.container')} value={bulk.container} onChange={(event) => change({ container: event.currentTarget.value })} />
          <TextInput label={t('action.newImage')} value={bulk.image} onChange={(event) => change({ image: event.currentTarget.value })} />
        </Group>
      )}
      {bulk.action === 'LABEL' && <TagsInput label={t('bulk.labels')} description={t('bulk.labelsHint')} value={bulk.labels} onChange={(labels) => change({ labels })} />}
      <NumberInput
        label={t('bulk.maxFailed')}
        description={t('bulk.maxFailedHint')}
        min={0}
        max={100}
        suffix=" %"
        value={bulk.maxFailedPercent}
        onChange={(value) => change({ maxFailedPercent: Number(value) || 0 })}
      />
    </>
  );
}

function Results({ of, title }: { of: Payload; title: string }): ReactElement {
  const t = useT();
  const order: readonly Result['outcome'][] = ['FAILED', 'SKIPPED', 'CHANGED'];
  const sorted = [...of.results].sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
  return (
    <Stack gap={6} component="section" aria-label={title}>
      <Group gap="xs" role="status">
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <Badge color="teal">{t('bulk.changed', { count: of.changed })}</Badge>
        {of.failed > 0 && <Badge color="red">{t('bulk.failed', { count: of.failed })}</Badge>}
        {of.skipped > 0 && <Badge color="gray">{t('bulk.skipped', { count: of.skipped })}</Badge>}
      </Group>
      <ScrollArea.Autosize mah={260} tabIndex={0}>
        <Stack gap={2} component="ul" className="kairship-list">
          {sorted.slice(0, mostShown).map((r) => (
            <Text key={`${r.instanceName}/${r.kind}/${r.namespace}/${r.name}`} size="sm" component="li">
              {t(`bulk.outcome.${r.outcome}`)}: {r.instanceName} · {t(`kind.${r.kind}`)} {r.namespace}/{r.name}
              {r.error && <span className="kairship-danger"> – {r.error.message}</span>}
            </Text>
          ))}
        </Stack>
      </ScrollArea.Autosize>
      {sorted.length > mostShown && (
        <Text size="xs" className="kairship-dimmed">
          {t('preview.rest', { count: sorted.length - mostShown })}
        </Text>
      )}
    </Stack>
  );
}
