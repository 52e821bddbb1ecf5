import { Badge, Group, Paper, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { readFragment, type FragmentOf, type ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { PreviewItemFields } from './items.ts';
import { Placements } from './Placements.tsx';

type Effect = ResultOf<typeof PreviewItemFields>['effect'];

const colors: Record<Effect, string> = { LOST: 'red', HANDED_OVER: 'orange', TAKEN_OVER: 'orange', CLAIMED: 'teal', EVICTED: 'red', RESCHEDULED: 'blue', UNCHANGED: 'gray' };

/** PreviewItems lists the objects that a change touches: what becomes of each, and where it would be. */
export function PreviewItems({ items, total }: { items: readonly FragmentOf<typeof PreviewItemFields>[]; total?: number }): ReactElement {
  const t = useT();
  const name = (policy: { namespace: string | null; name: string } | null): string => (policy === null ? '' : [policy.namespace, policy.name].filter(Boolean).join('/'));
  return (
    <Paper withBorder>
      <ul className="kairship-list">
        {items.map((of) => {
          const item = readFragment(PreviewItemFields, of);
          const moves = name(item.policyBefore) !== name(item.policyAfter) && item.policyAfter !== null;
          return (
            <li key={`${item.kind} ${item.namespace} ${item.name}`} className="kairship-preview-item">
              <Group gap="xs">
                <Badge className={`kairship-badge kairship-${item.unplaced ? 'red' : colors[item.effect]}`} variant="light" size="sm" radius="sm">
                  {item.unplaced ? t('preview.unplacedOne') : t(`preview.effect.${item.effect}`)}
                </Badge>
                <Text size="sm" fw={600}>
                  {item.namespace && `${item.namespace}/`}
                  {item.name}
                </Text>
                <Text size="xs" className="kairship-dimmed">
                  {item.kind}
                  {moves && ` · ${t('preview.underPolicy', { name: name(item.policyAfter) })}`}
                </Text>
              </Group>
              <Placements before={item.placementsBefore} after={item.placementsAfter} />
              {item.message && <Text size="xs">{item.message}</Text>}
            </li>
          );
        })}
      </ul>
      {total !== undefined && total > items.length && (
        <Text size="xs" px="md" py="xs" className="kairship-dimmed">
          {t('preview.rest', { count: total - items.length })}
        </Text>
      )}
    </Paper>
  );
}
