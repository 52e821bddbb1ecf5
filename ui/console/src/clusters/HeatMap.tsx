import { Group, Paper, SegmentedControl, Stack, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { share } from '../shared/quantity.ts';
import type { ClustersQuery } from './queries.ts';

type Cluster = ResultOf<typeof ClustersQuery>['clusters']['nodes'][number];

const measures = ['cpu', 'memory', 'pods'] as const;
type Measure = (typeof measures)[number];

/** levelOf is the colour of a share in percent: blue, then orange, then red, as the bars of the list. */
function levelOf(percent: number | undefined): string {
  if (percent === undefined) return 'gray';
  if (percent > 90) return 'red';
  if (percent > 75) return 'orange';
  return percent > 40 ? 'blue' : 'teal';
}

/** HeatMap shows how full every cluster is, the fullest first. */
export function HeatMap({ of }: { of: readonly Cluster[] }): ReactElement {
  const t = useT();
  const [measure, setMeasure] = useState<Measure>('cpu');
  const cells = of
    .map((cluster) => ({ cluster, percent: cluster.summary ? share(cluster.summary[measure].allocated, cluster.summary[measure].allocatable) : undefined }))
    .sort((a, b) => (b.percent ?? -1) - (a.percent ?? -1) || a.cluster.name.localeCompare(b.cluster.name));
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="heat-map">
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} id="heat-map">
            {t('clusters.heat')}
          </Title>
          <SegmentedControl size="xs" aria-label={t('clusters.measure')} data={measures.map((value) => ({ value, label: t(`fleet.${value}`) }))} value={measure} onChange={(value) => setMeasure(value as Measure)} />
        </Group>
        <ul className="kairship-heat">
          {cells.map(({ cluster, percent }) => {
            const text = percent === undefined ? t('fleet.noSummary') : `${percent}%`;
            const content = (
              <>
                <b>{cluster.alias ?? cluster.name}</b>
                <span>{text}</span>
              </>
            );
            return (
              <li key={cluster.name} className={`kairship-${levelOf(percent)}`}>
                {cluster.instance ? (
                  <Link to="/instances/$instance/clusters/$name" params={{ instance: cluster.instance.name, name: cluster.name }}>
                    {content}
                  </Link>
                ) : (
                  <div>{content}</div>
                )}
              </li>
            );
          })}
        </ul>
      </Stack>
    </Paper>
  );
}
