import { ActionIcon, Autocomplete, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { edit, type Selector } from './form.ts';

/** known are kinds that policies often select, each with the version of its API. */
const known: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1', StatefulSet: 'apps/v1', DaemonSet: 'apps/v1', Job: 'batch/v1', CronJob: 'batch/v1', ConfigMap: 'v1', Secret: 'v1', Service: 'v1', Ingress: 'networking.k8s.io/v1',
};

/** Selectors changes what a policy selects. */
export function Selectors({ of, text, change }: { of: readonly Selector[]; text: string; change: (text: string) => void }): ReactElement {
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
      {of.map((s, i) => (
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
        <Button size="compact-xs" variant="default" onClick={() => change(edit(text, [['resourceSelectors', of.length], { apiVersion: 'apps/v1', kind: 'Deployment' }]))}>
          {t('policies.form.addSelector')}
        </Button>
      </Group>
    </Stack>
  );
}
