import { SegmentedControl, Skeleton, Stack, Text } from '@mantine/core';
import { useState, type ReactElement } from 'react';
import { useQuery } from 'urql';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import { Assumptions, Figures } from '../preview/Figures.tsx';
import { PreviewItems } from '../preview/PreviewItems.tsx';
import { Problem } from '../shared/Problem.tsx';
import type { MemberKey } from './member.ts';
import { LossQuery } from './memberQueries.ts';

type LossPreview = NonNullable<NonNullable<ResultOf<typeof LossQuery>['instance']>['clusterLossPreview']>;

/** modes are the ways to lose a cluster that are asked about here; NO_EXECUTE_TAINT stands for one that dies. */
const modes = ['NO_EXECUTE_TAINT', 'REMOVAL', 'CORDON'] as const;
type Mode = (typeof modes)[number];

/** LossResult is what a loss would do to what is in the cluster. */
export function LossResult({ of }: { of: LossPreview }): ReactElement {
  const t = useT();
  const touched = of.evicted + of.moved + of.removed + of.unplaced;
  return (
    <Stack gap="sm">
      {touched === 0 ? (
        <Text size="sm">{t('cluster.lossNothing', { count: of.unchanged })}</Text>
      ) : (
        <Figures
          of={[
            { label: t('preview.evicted'), count: of.evicted },
            { label: t('preview.moved'), count: of.moved },
            { label: t('preview.unchangedCount'), count: of.unchanged },
            { label: t('preview.unplaced'), count: of.unplaced, grave: true },
          ]}
        />
      )}
      {of.items.length > 0 && <PreviewItems items={of.items} />}
      <Assumptions title={t('preview.assumptions')} of={of.assumptions} />
    </Stack>
  );
}

/** Loss answers what would become of a cluster's objects without it, with today's capacity. */
export function Loss({ of }: { of: MemberKey }): ReactElement {
  const t = useT();
  const [mode, setMode] = useState<Mode>('NO_EXECUTE_TAINT');
  const assume = mode === 'NO_EXECUTE_TAINT' ? { noExecuteEviction: true } : null;
  const [{ data, error, fetching }] = useQuery({ query: LossQuery, variables: { ...of, mode, assume } });
  const preview = data?.instance?.clusterLossPreview;
  return (
    <Stack gap="md">
      <div>
        <SegmentedControl aria-label={t('cluster.lossMode')} data={modes.map((value) => ({ value, label: t(`cluster.loss.${value}`) }))} value={mode} onChange={(value) => setMode(value as Mode)} />
        <Text size="sm" mt={6} className="kairship-dimmed">
          {t(`cluster.lossHint.${mode}`)}
        </Text>
      </div>
      {fetching ? <Skeleton h={160} /> : <Problem error={error} part={preview != null} />}
      {!fetching && preview && <LossResult of={preview} />}
    </Stack>
  );
}
