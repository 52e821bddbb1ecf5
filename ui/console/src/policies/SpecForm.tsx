import { Group, NumberInput, Paper, Select, Stack, TagsInput, Text } from '@mantine/core';
import { useMemo, type ReactElement } from 'react';
import { useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { read } from './change.ts';
import { divisions, edit, readForm, schedulingOf, type Division, type Form } from './form.ts';
import { propagates, type PolicyKind } from './kinds.ts';
import { readOverrideForm } from './overrideForm.ts';
import { OverrideRules } from './OverrideRules.tsx';
import { MemberNamesQuery } from './queries.ts';
import { Selectors } from './Selectors.tsx';

interface Props {
  instance: string;
  kind: PolicyKind;
  /** text is the YAML of the spec, which the form shows and changes. */
  text: string;
  change: (text: string) => void;
}

/** SpecForm changes the common parts of a policy's spec. It writes into the YAML, and shows what that has. */
export function SpecForm({ instance, kind, text, change }: Props): ReactElement | null {
  const t = useT();
  const [{ data }] = useQuery({ query: MemberNamesQuery, variables: { instance } });
  const members = data?.instance?.memberClusters.nodes.map((m) => m.name) ?? [];
  const draft = useMemo(() => read(text), [text]);
  if ('error' in draft) return null; // The text has to be YAML again first.
  const propagation = propagates(kind) ? readForm(draft.spec) : undefined;
  const override = propagation ? undefined : readOverrideForm(draft.spec);
  const { selectors = [], more = [] } = propagation ?? override ?? {};
  return (
    <Paper withBorder p="sm">
      <Stack gap="sm">
        <Selectors of={selectors} text={text} change={change} />
        {propagation && <Places form={propagation} members={members} text={text} change={change} />}
        {override && <OverrideRules of={override.rules} members={members} text={text} change={change} />}
        {more.length > 0 && (
          <Text size="xs" className="kairship-dimmed">
            {t('policies.form.more', { fields: more.join(', ') })}
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

/** Places changes which clusters a propagation policy names, and how replicas are divided over them. */
function Places({ form, members, text, change }: Pick<Props, 'text' | 'change'> & { form: Form; members: string[] }): ReactElement {
  const t = useT();
  const placed = form.clusters.length > 0 ? form.clusters : members;
  const divide = (division: Division, weights: Form['weights'], clusters = placed): readonly [readonly string[], ReturnType<typeof schedulingOf>] =>
    [['placement', 'replicaScheduling'], schedulingOf(division, clusters, weights)];
  return (
    <>
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
    </>
  );
}
