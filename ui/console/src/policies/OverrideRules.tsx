import { ActionIcon, Button, Group, Menu, Stack, TagsInput, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { edit, type Fields } from './form.ts';
import { OverrideChange } from './OverrideChange.tsx';
import { PlaintextTable } from './PlaintextTable.tsx';
import { beginnings, changes, type Change, type Rule } from './overrideForm.ts';
import type { Json } from './spec.ts';

interface Props {
  members: string[];
  text: string;
  change: (text: string) => void;
}

/** OverrideRules changes how objects differ in some clusters, rule by rule. */
export function OverrideRules({ of, ...props }: Props & { of: readonly Rule[] }): ReactElement {
  const t = useT();
  const { text, change } = props;
  return (
    <>
      {of.map((rule, i) => (
        <OverrideRule key={i} {...props} rule={rule} i={i} />
      ))}
      <Group>
        <Button size="compact-xs" variant="default" onClick={() => change(edit(text, [['overrideRules', of.length], { overriders: { imageOverrider: [beginnings.imageOverrider] } }]))}>
          {t('policies.form.addRule')}
        </Button>
      </Group>
    </>
  );
}

function OverrideRule({ rule, i, members, text, change }: Props & { rule: Rule; i: number }): ReactElement {
  const t = useT();
  const at = ['overrideRules', i] as const;
  const place = [...at, 'overriders'] as const;
  const setClusters = (clusters: string[]): void => {
    if (clusters.length > 0) change(edit(text, [[...at, 'targetCluster', 'clusterNames'], clusters]));
    else change(edit(text, [[...at, 'targetCluster', ...(rule.elsewhere ? ['clusterNames'] : [])], undefined]));
  };
  const set = (kind: Change, n: number, field: string, value: Json | undefined): void => change(edit(text, [[...place, kind, n, field], value]));
  const remove = (kind: Change, n: number): void => change(edit(text, [[...place, kind, ...(rule.changes[kind].length > 1 ? [n] : [])], undefined]));
  const removal = (kind: Change, n: number): ReactElement => (
    <ActionIcon variant="subtle" aria-label={t('policies.form.removeChange', { change: t(`policies.form.change.${kind}`), n: n + 1 })} onClick={() => remove(kind, n)}>
      ×
    </ActionIcon>
  );
  const one = (kind: Exclude<Change, 'plaintext'>, of: Fields, n: number): ReactElement => (
    <OverrideChange key={`${kind} ${n}`} kind={kind} of={of} set={(field, value) => set(kind, n, field, value)} removal={removal(kind, n)} />
  );
  return (
    <Stack gap="xs" component="fieldset" className="kairship-facet kairship-rule">
      <Text component="legend" size="sm" fw={500}>
        {t('policies.form.rule', { n: i + 1 })}
      </Text>
      <TagsInput size="xs" label={t('policies.form.clusters')} description={rule.elsewhere ? undefined : t('policies.form.clustersHint')} data={members} value={rule.clusters} onChange={setClusters} />
      {changes.map((kind) => (kind === 'plaintext' ? null : rule.changes[kind].map((of, n) => one(kind, of, n))))}
      {rule.changes.plaintext.length > 0 && <PlaintextTable of={rule.changes.plaintext} set={(n, field, value) => set('plaintext', n, field, value)} removal={(n) => removal('plaintext', n)} />}
      <Group>
        <Menu>
          <Menu.Target>
            <Button size="compact-xs" variant="default">
              {t('policies.form.addChange')}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {changes.map((kind) => (
              <Menu.Item key={kind} onClick={() => change(edit(text, [[...place, kind, rule.changes[kind].length], beginnings[kind]]))}>
                {t(`policies.form.change.${kind}`)}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
        <Button size="compact-xs" variant="subtle" onClick={() => change(edit(text, [[...at], undefined]))}>
          {t('policies.form.removeRule', { n: i + 1 })}
        </Button>
      </Group>
    </Stack>
  );
}
