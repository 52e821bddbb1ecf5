import { Badge } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';

export type HealthValue = 'HEALTHY' | 'PROGRESSING' | 'DEGRADED' | 'UNSCHEDULED' | 'UNPROPAGATED' | 'UNMANAGED' | 'UNKNOWN';

const colors: Record<HealthValue, string> = {
  HEALTHY: 'teal',
  PROGRESSING: 'blue',
  DEGRADED: 'red',
  UNSCHEDULED: 'orange',
  UNPROPAGATED: 'orange',
  UNMANAGED: 'gray',
  UNKNOWN: 'gray',
};

export function healthColor(health: HealthValue): string {
  return colors[health];
}

/** Health says how a workload is, in words and not by its colour alone. */
export function Health({ value }: { value: HealthValue }): ReactElement {
  const t = useT();
  return (
    <Badge className={`kairship-badge kairship-${colors[value]}`} variant="light" color={colors[value]} size="sm" radius="sm">
      {t(`health.${value}`)}
    </Badge>
  );
}
