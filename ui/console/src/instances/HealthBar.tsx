import { Group } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { healthColor, type HealthValue } from '../shared/Health.tsx';
import { AnchorLink } from '../shared/links.tsx';

/** order is from what is well to what is not. */
const order: readonly HealthValue[] = ['HEALTHY', 'PROGRESSING', 'UNKNOWN', 'UNMANAGED', 'UNPROPAGATED', 'UNSCHEDULED', 'DEGRADED'];

/** HealthBar shows how many workloads are how, each part with a link to these. */
export function HealthBar({ instance, values }: { instance: string; values: readonly { value: string; count: number }[] }): ReactElement {
  const t = useT();
  const counts = order.map((health) => ({ health, count: values.find((v) => v.value === health)?.count ?? 0 })).filter((part) => part.count > 0);
  return (
    <div>
      <div className="kairship-bar" aria-hidden>
        {counts.map(({ health, count }) => (
          <span key={health} className={`kairship-fill-${healthColor(health)}`} style={{ flexGrow: count }} />
        ))}
      </div>
      <Group gap="md" mt={6}>
        {counts.map(({ health, count }) => (
          <AnchorLink key={health} to="/workloads" search={{ instance: [instance], health: [health] }} size="sm" c="inherit">
            <span className={`kairship-dot kairship-fill-${healthColor(health)}`} aria-hidden /> {t(`health.${health}`)} {count}
          </AnchorLink>
        ))}
      </Group>
    </div>
  );
}
