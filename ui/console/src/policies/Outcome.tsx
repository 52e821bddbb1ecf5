import { Badge, Group, Paper, Stack, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { Assumptions, Figures } from '../preview/Figures.tsx';
import { PreviewItems } from '../preview/PreviewItems.tsx';
import { Problem } from '../shared/Problem.tsx';
import type { Outcome, OverrideOutcome, PropagationOutcome } from './change.ts';

const effectColor = { FAILED: 'red', CHANGED: 'blue', CREATED: 'teal', UNCHANGED: 'gray' } as const;

/** OutcomeView is what a change would do, before it is made. */
export function OutcomeView({ of }: { of: Outcome }): ReactElement {
  if (of.is === 'refused') return <Problem error={of.error} />;
  return of.is === 'propagation' ? <Propagation of={of.of} /> : <Override of={of.of} />;
}

function Propagation({ of }: { of: PropagationOutcome }): ReactElement {
  const t = useT();
  const changes = of.claimed + of.lost + of.takenOver + of.handedOver + of.moved + of.removed + of.unplaced;
  return (
    <Stack gap="sm">
      {changes === 0 ? (
        <Text size="sm">{t('preview.nothing')}</Text>
      ) : (
        <Figures
          of={[
            { label: t('preview.moved'), count: of.moved },
            { label: t('preview.claimed'), count: of.claimed + of.takenOver },
            { label: t('preview.removed'), count: of.removed, grave: true },
            { label: t('preview.lost'), count: of.lost + of.handedOver, grave: true },
            { label: t('preview.unplaced'), count: of.unplaced, grave: true },
          ]}
        />
      )}
      {of.items.length > 0 && <PreviewItems items={of.items} />}
      <Assumptions title={t('preview.assumptions')} of={of.assumptions} />
    </Stack>
  );
}

function Override({ of }: { of: OverrideOutcome }): ReactElement {
  const t = useT();
  return (
    <Stack gap="sm">
      {of.failed + of.changed + of.created === 0 ? (
        <Text size="sm">{t('preview.nothing')}</Text>
      ) : (
        <Figures
          of={[
            { label: t('preview.changed'), count: of.changed },
            { label: t('preview.created'), count: of.created },
            { label: t('preview.unchanged'), count: of.unchanged },
            { label: t('preview.failed'), count: of.failed, grave: true },
          ]}
        />
      )}
      {of.items.map((item) => (
        <Paper key={`${item.kind} ${item.namespace} ${item.name} ${item.clusterName}`} withBorder p="sm">
          <Group gap="xs">
            <Badge className={`kairship-badge kairship-${effectColor[item.effect]}`} variant="light" size="sm" radius="sm">
              {t(`preview.manifest.${item.effect}`)}
            </Badge>
            <Text size="sm" fw={600}>
              {item.namespace && `${item.namespace}/`}
              {item.name}
            </Text>
            <Text size="xs" className="kairship-dimmed">
              {item.kind} · {item.clusterName}
            </Text>
          </Group>
          {item.message && <Text size="xs">{item.message}</Text>}
          {item.fields.map((field) => (
            <div key={field.path} className="kairship-field">
              <span>{field.path}</span>
              {field.before !== null && <del>{field.before}</del>}
              {field.after !== null && <ins>{field.after}</ins>}
            </div>
          ))}
          {item.totalFields > item.fields.length && <Text size="xs">+{item.totalFields - item.fields.length}</Text>}
        </Paper>
      ))}
      <Assumptions title={t('preview.assumptions')} of={of.assumptions} />
    </Stack>
  );
}
