import { Stack, Table, Text, TextInput } from '@mantine/core';
import { useState, type ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { text, type Fields } from './form.ts';
import { Constant, operators } from './OverrideChange.tsx';
import { jsonOf, writtenOf } from './overrideForm.ts';
import type { Json } from './spec.ts';

interface Props {
  of: readonly Fields[];
  set: (n: number, field: string, value: Json | undefined) => void;
  removal: (n: number) => ReactElement;
}

/** PlaintextTable changes the changes of any field. */
export function PlaintextTable({ of, set, removal }: Props): ReactElement {
  const t = useT();
  const path = t('policies.form.path');
  const operator = t('policies.form.operator');
  const value = t('policies.form.json');
  return (
    <Stack gap={4} component="fieldset" className="kairship-facet">
      <Text component="legend" size="xs" fw={500}>
        {t('policies.form.change.plaintext')}
      </Text>
      <Table.ScrollContainer minWidth={440} type="native">
        <Table verticalSpacing={4} horizontalSpacing={4} layout="fixed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{path}</Table.Th>
              <Table.Th w={110}>{operator}</Table.Th>
              <Table.Th>{value}</Table.Th>
              <Table.Td w={36} />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {of.map((item, n) => (
              <Table.Tr key={n}>
                <Table.Td>
                  <TextInput size="xs" aria-label={path} value={text(item['path'])} onChange={(event) => set(n, 'path', event.currentTarget.value)} />
                </Table.Td>
                <Table.Td>
                  <Constant bare label={operator} of={text(item['operator'])} known={operators} name={(word) => t(`policies.form.operators.${word}`)} set={(word) => set(n, 'operator', word)} />
                </Table.Td>
                <Table.Td>
                  <Value label={value} of={item['value']} set={(json) => set(n, 'value', json)} />
                </Table.Td>
                <Table.Td>{removal(n)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  );
}

/** Value changes a value of any form. It keeps what is typed for as long as that means the same value. */
function Value({ label, of, set }: { label: string; of: Json | undefined; set: (value: Json | undefined) => void }): ReactElement {
  const [typed, setTyped] = useState('');
  const shown = JSON.stringify(jsonOf(typed)) === JSON.stringify(of) ? typed : writtenOf(of);
  return (
    <TextInput
      size="xs"
      aria-label={label}
      value={shown}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        set(jsonOf(event.currentTarget.value));
      }}
    />
  );
}
