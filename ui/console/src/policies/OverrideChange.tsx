import { Group, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { text, texts, type Fields } from './form.ts';
import { pairsOf, valuesOf, type Change } from './overrideForm.ts';
import type { Json } from './spec.ts';

const components = ['Registry', 'Repository', 'Tag'] as const;
export const operators = ['add', 'replace', 'remove'] as const;

interface Props {
  kind: Exclude<Change, 'plaintext'>;
  of: Fields;
  set: (field: string, value: Json | undefined) => void;
  /** removal is the button that removes it. */
  removal: ReactElement;
}

/** OverrideChange changes one change of images, of the words of a container, or of labels. */
export function OverrideChange({ kind, of, set, removal }: Props): ReactElement {
  const t = useT();
  const words = kind === 'commandOverrider' || kind === 'argsOverrider';
  return (
    <Stack gap={4} component="fieldset" className="kairship-facet">
      <Text component="legend" size="xs" fw={500}>
        {t(`policies.form.change.${kind}`)}
      </Text>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <div className="kairship-change">
          {kind === 'imageOverrider' && (
            <Constant label={t('policies.form.component')} of={text(of['component'])} known={components} name={(value) => t(`policies.form.components.${value}`)} set={(value) => set('component', value)} />
          )}
          {words && <TextInput size="xs" label={t('action.container')} value={text(of['containerName'])} onChange={(event) => set('containerName', event.currentTarget.value)} />}
          <Constant
            label={t('policies.form.operator')}
            of={text(of['operator'])}
            known={words ? (['add', 'remove'] as const) : operators}
            name={(value) => t(`policies.form.operators.${value}`)}
            set={(value) => set('operator', value)}
          />
          {kind === 'imageOverrider' && <TextInput size="xs" label={t('policies.form.value')} value={text(of['value'])} onChange={(event) => set('value', event.currentTarget.value || undefined)} />}
          {words && (
            <TagsInput size="xs" label={t('policies.form.words')} splitChars={[]} allowDuplicates value={texts(of['value'])} onChange={(value) => set('value', value)} />
          )}
          {(kind === 'labelsOverrider' || kind === 'annotationsOverrider') && (
            <TagsInput size="xs" label={t('policies.form.pairs')} splitChars={[]} value={pairsOf(of['value'])} onChange={(value) => set('value', valuesOf(value))} />
          )}
        </div>
        {removal}
      </Group>
    </Stack>
  );
}

interface ConstantProps<T extends string> {
  label: string;
  of: string;
  known: readonly T[];
  name: (value: T) => string;
  set: (value: string) => void;
  bare?: boolean;
}

/** Constant chooses one of some words. One that it does not know stays, and is shown as it is. */
export function Constant<T extends string>({ label, of, known, name, set, bare }: ConstantProps<T>): ReactElement {
  const data = [...known.map((value) => ({ value: value as string, label: name(value) })), ...(of === '' || known.some((value) => value === of) ? [] : [{ value: of, label: of }])];
  return <Select size="xs" {...(bare ? { 'aria-label': label } : { label })} data={data} value={of || null} allowDeselect={false} onChange={(value) => value !== null && set(value)} />;
}
