import { Group, Progress, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { share } from './quantity.ts';

/** Share is how much of a capacity is given out, as a bar with its number. */
export function Share({ of, label }: { of: { allocatable: number; allocated: number } | null | undefined; label: string }): ReactElement {
  if (of == null) return <Text size="sm">–</Text>;
  const percent = share(of.allocated, of.allocatable);
  return (
    <Group gap={6} wrap="nowrap">
      <Progress value={percent} w={60} size="sm" color={percent > 90 ? 'red' : percent > 75 ? 'orange' : 'indigo'} aria-label={label} />
      <Text size="xs">{percent}%</Text>
    </Group>
  );
}
