import { Group, Progress, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { share } from './quantity.ts';

/** Allocation shows how much of a capacity is given out. */
export function Allocation({ label, part, whole, write }: { label: string; part: number; whole: number; write: (n: number) => string }): ReactElement {
  const t = useT();
  const percent = share(part, whole);
  return (
    <div>
      <Group justify="space-between" gap={4}>
        <Text size="xs">{label}</Text>
        <Text size="xs" className="kairship-dimmed">
          {write(part)} / {write(whole)}
        </Text>
      </Group>
      <Progress value={percent} size="sm" color={percent > 90 ? 'red' : percent > 75 ? 'orange' : 'indigo'} aria-label={`${label} ${t('fleet.allocated')}`} />
    </div>
  );
}
