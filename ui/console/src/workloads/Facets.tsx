import { Checkbox, Group, Stack, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import type { HealthValue } from '../shared/Health.tsx';
import { facetOf, toggled, type FacetField, type ListName, type Search } from './search.ts';

interface Facet {
  field: FacetField;
  totalValues: number;
  values: readonly { value: string; count: number }[];
}

/** Facets are the values that a list has, with how many rows have each, to narrow it by. */
export function Facets({ facets, search, change }: { facets: readonly Facet[]; search: Search; change: (part: Partial<Search>) => void }): ReactElement {
  const t = useT();
  const title = (field: FacetField, value: string): string => {
    if (field === 'HEALTH') return t(`health.${value as HealthValue}`);
    if (field === 'KIND' && !value.includes('.')) return t(`kind.${value as 'DEPLOYMENT'}`);
    return value;
  };
  return (
    <Stack gap="lg">
      {facets.map((facet) => {
        const name: ListName | undefined = facetOf[facet.field];
        if (name === undefined) return null;
        const chosen = search[name] ?? [];
        const missing = chosen.filter((value) => !facet.values.some((v) => v.value === value)).map((value) => ({ value, count: 0 }));
        const rest = facet.totalValues - facet.values.length;
        return (
          <Stack key={facet.field} gap={6} component="fieldset" className="kairship-facet">
            <Text component="legend" size="xs" fw={600} className="kairship-dimmed">
              {t(`workloads.facet.${facet.field}`)}
            </Text>
            {[...missing, ...facet.values].map(({ value, count }) => (
              <Group key={value} justify="space-between" gap={6} wrap="nowrap">
                <Checkbox
                  size="xs"
                  label={title(facet.field, value)}
                  checked={chosen.includes(value)}
                  onChange={() => change({ [name]: toggled(chosen, value) })}
                  classNames={{ label: 'kairship-facet-label' }}
                />
                <Text size="xs" className="kairship-dimmed">
                  {count}
                </Text>
              </Group>
            ))}
            {rest > 0 && (
              <Text size="xs" className="kairship-dimmed">
                {t('workloads.moreValues', { count: rest })}
              </Text>
            )}
          </Stack>
        );
      })}
    </Stack>
  );
}
