import { Group, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Health, type HealthValue } from './Health.tsx';
import { AnchorLink } from './links.tsx';
import type { WorkloadsQuery } from '../workloads/queries.ts';

type Kind = ResultOf<typeof WorkloadsQuery>['workloads']['nodes'][number]['kind'];

interface Line {
  kind: Kind;
  namespace: string;
  name: string;
  health: HealthValue;
  healthMessage: string | null;
  replicas: { desired: number | null; ready: number | null };
  placements: readonly { clusterName: string }[];
}

/** WorkloadLines is a short list of workloads of one instance, each with a link to its page. */
export function WorkloadLines({ of, instance }: { of: readonly Line[]; instance: string }): ReactElement {
  const t = useT();
  return (
    <ul className="kairship-list">
      {of.map((w) => (
        <li key={`${w.kind} ${w.namespace} ${w.name}`}>
          <Group gap="sm" px="md" py={8}>
            <Health value={w.health} />
            <AnchorLink to="/instances/$instance/workloads/$kind/$namespace/$name" params={{ instance, kind: w.kind, namespace: w.namespace, name: w.name }} size="sm" fw={600}>
              {w.namespace}/{w.name}
            </AnchorLink>
            <Text size="xs" className="kairship-dimmed">
              {t(`kind.${w.kind}`)}
              {w.replicas.desired !== null && ` · ${w.replicas.ready ?? 0}/${w.replicas.desired}`}
            </Text>
            <Text size="xs" flex={1} miw={160} className="kairship-dimmed" lineClamp={1}>
              {w.health === 'HEALTHY' ? w.placements.map((p) => p.clusterName).join(', ') : w.healthMessage}
            </Text>
          </Group>
        </li>
      ))}
    </ul>
  );
}
