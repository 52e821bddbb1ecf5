import { ActionIcon, Autocomplete, Button, Group, NumberInput, Paper, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useMemo, type ReactElement } from 'react';
import { useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { read } from './change.ts';
import { divisions, edit, readForm, schedulingOf, type Division, type Form } from './form.ts';
import { MemberNamesQuery } from './queries.ts';

interface Props {
  instance: string;
  /** text is the YAML of the spec, which the form shows and changes. */
  text: string;
  change: (text: string) => void;
}

/** known are kinds that policies often select, each with the version of its API. */
const known: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1', StatefulSet: 'apps/v1', DaemonSet: 'apps/v1', Job: 'batch/v1', CronJob: 'batch/v1', ConfigMap: 'v1', Secret: 'v1', Service: 'v1', Ingress: 'networking.k8s.io/v1',
};

/** SpecForm changes the common parts of a propagation policy's spec. It writes into the YAML, and shows what that has. */
export function SpecForm({ instance, text, change }: Props): ReactElement | null {
  const t = useT();
  const [{ data }] = useQuery({ query: MemberNamesQuery, variables: { instance } });
  const members = data?.instance?.memberClusters.nodes.map((m) => m.name) ?? [];
  const draft = useMemo(() => read(text), [text]);
  if ('error' in draft) return null; // The text has to be YAML again first.
  const form = readForm(draft.spec);
  const placed = form.clusters.length > 0 ? form.clusters : members;
  const divide = (division: Division, weights: Form['weights'], clusters = placed): readonly [readonly string[], ReturnType<typeof schedulingOf>] =>
    [['placement', 'replicaScheduling'], schedulingOf(division, clusters, weights)];
  return (
    <Paper withBorder p="sm">
      <Stack gap="sm">
        <Selectors form={form} text={text} change={change} />
        <TagsInput
          label={t('policies.form.clusters')}
          description={t('policies.form.clustersHint')}
          data={members}
          value={form.clusters}
          onChange={(clusters) => {
            const affinity = [['placement', 'clusterAffinity', 'clusterNames'], clusters.length > 0 ? clusters : undefined] as const;
            change(form.division === 'WEIGHTED' ? edit(text, affinity, divide('WEIGHTED', form.weights, clusters.length > 0 ? clusters : members)) : edit(text, affinity));
          }}
        />
        <Select
          label={t('policies.form.division')}
          data={divisions.map((value) => ({ value, label: t(`policies.form.divisions.${value}`) }))}
          value={form.division}
          allowDeselect={false}
          onChange={(value) => value !== null && change(edit(text, divide(value as Division, form.weights)))}
        />
        {form.division === 'WEIGHTED' && (
          <Group gap="sm" align="flex-end">
            {placed.map((name) => (
              <NumberInput
                key={name}
                w={110}
                label={t('policies.form.weight', { cluster: name })}
                min={1}
                max={1000}
                value={form.weights[name] ?? 1}
                onChange={(value) => change(edit(text, divide('WEIGHTED', { ...form.weights, [name]: Number(value) || 1 })))}
              />
            ))}
          </Group>
        )}
        {form.more.length > 0 && (
          <Text size="xs" className="kairship-dimmed">
            {t('policies.form.more', { fields: form.more.join(', ') })}
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

function Selectors({ form, text, change }: { form: Form; text: string; change: (text: string) => void }): ReactElement {
  const t = useT();
  const setKind = (i: number, kind: string): void => {
    const version = known[kind];
    change(version === undefined ? edit(text, [['resourceSelectors', i, 'kind'], kind]) : edit(text, [['resourceSelectors', i, 'kind'], kind], [['resourceSelectors', i, 'apiVersion'], version]));
  };
  return (
    <Stack gap="xs" component="fieldset" className="kairship-facet">
      <Text component="legend" size="sm" fw={500}>
        {t('policies.form.selects')}
      </Text>
      {form.selectors.map((s, i) => (
        <Group key={i} gap="xs" wrap="nowrap" align="flex-end">
          <Autocomplete flex={1} size="xs" label={t('policies.form.kind')} data={Object.keys(known)} value={s.kind} onChange={(kind) => setKind(i, kind)} />
          <TextInput flex={1} size="xs" label={t('policies.form.apiVersion')} value={s.apiVersion} onChange={(event) => change(edit(text, [['resourceSelectors', i, 'apiVersion'], event.currentTarget.value]))} />
          <TextInput
            flex={1}
            size="xs"
            label={t('policies.form.name')}
            placeholder={t('policies.every')}
            value={s.name}
            onChange={(event) => change(edit(text, [['resourceSelectors', i, 'name'], event.currentTarget.value || undefined]))}
          />
          <ActionIcon variant="subtle" aria-label={t('policies.form.removeSelector', { n: i + 1 })} onClick={() => change(edit(text, [['resourceSelectors', i], undefined]))}>
            ×
          </ActionIcon>
        </Group>
      ))}
      <Group>
        <Button size="compact-xs" variant="default" onClick={() => change(edit(text, [['resourceSelectors', form.selectors.length], { apiVersion: 'apps/v1', kind: 'Deployment' }]))}>
          {t('policies.form.addSelector')}
        </Button>
      </Group>
    </Stack>
  );
}
