import { Badge, Group, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';

interface Placement {
  clusterName: string;
  replicas: number;
}

/** Placements shows where an object is and where it would be, cluster by cluster, with what changes marked. */
export function Placements({ before, after }: { before: readonly Placement[]; after: readonly Placement[] }): ReactElement {
  const t = useT();
  const names = [...new Set([...before, ...after].map((p) => p.clusterName))].sort();
  const in_ = (list: readonly Placement[], name: string): number | undefined => list.find((p) => p.clusterName === name)?.replicas;
  if (names.length === 0) return <Text size="xs" className="kairship-dimmed">{t('preview.nowhere')}</Text>;
  return (
    <Group gap={6}>
      {names.map((name) => {
        const was = in_(before, name);
        const is = in_(after, name);
        const color = was === is ? 'gray' : is === undefined ? 'red' : was === undefined ? 'teal' : 'blue';
        const count = (replicas: number | undefined): string => (replicas ? ` ${replicas}` : ''); // Zero where replicas are not counted.
        const text = was === is ? `${name}${count(is)}` : is === undefined ? `− ${name}` : was === undefined ? `+ ${name}${count(is)}` : `${name} ${was} → ${is}`;
        return (
          <Badge key={name} className={`kairship-badge kairship-${color}`} variant="light" size="sm" radius="sm">
            {text}
          </Badge>
        );
      })}
    </Group>
  );
}
