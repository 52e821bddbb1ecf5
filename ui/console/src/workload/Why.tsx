import { Badge, Code, Group, List, Paper, Stack, Text } from '@mantine/core';
import type { ReactElement } from 'react';

import { useLanguage, useT } from '../app/i18n.ts';
import { PolicyLink } from '../policies/PolicyLink.tsx';
import { clock } from '../shared/time.ts';
import type { Key } from './key.ts';
import { LastWords } from './LastWords.tsx';
import type { Workload } from './layout.ts';

const stateColor = { PASSED: 'teal', WAITING: 'blue', FAILED: 'red', NOT_REACHED: 'gray' } as const;

/** Why shows where the propagation stands, stage by stage, with what to do. */
export function Why({ of, workload }: { of: Key; workload: Workload }): ReactElement | null {
  const t = useT();
  const language = useLanguage();
  const { explanation } = workload;
  if (explanation === null) return null;
  return (
    <Stack gap="sm" component="ol" className="kairship-list">
      {explanation.steps.map((step) => (
        <Paper key={step.stage} withBorder px="md" py="sm" component="li">
          <Group gap="sm">
            <Badge className={`kairship-badge kairship-${stateColor[step.state]}`} variant="light" size="sm" radius="sm">
              {t(`workload.explained.${step.state}`)}
            </Badge>
            <Text fw={600} size="sm">
              {t(`workload.stage.${step.stage}`)}
            </Text>
            {step.since !== null && (
              <Text size="xs" className="kairship-dimmed">
                {clock(step.since, language, new Date())}
              </Text>
            )}
          </Group>
          {step.state !== 'NOT_REACHED' && (
            <Text size="sm" mt={6}>
              {step.summary}
            </Text>
          )}
          {step.reasons.length > 0 && (
            <List size="sm" mt={6} spacing={6}>
              {step.reasons.map((reason, i) => (
                <List.Item key={`${reason.code} ${i}`}>
                  {reason.clusterName !== null && <b>{reason.clusterName}: </b>}
                  {reason.message} <Code>{reason.code}</Code>
                  {reason.remedy !== null && (
                    <Text size="sm" className="kairship-dimmed">
                      {t('workload.remedy')}: {reason.remedy}
                    </Text>
                  )}
                  {reason.code === 'POD_CRASHING' && reason.clusterName !== null && reason.pod !== null && (
                    <LastWords of={of} clusterName={reason.clusterName} pod={reason.pod.name} />
                  )}
                </List.Item>
              ))}
            </List>
          )}
          <Policies of={of} those={policiesOf(workload, step)} />
        </Paper>
      ))}
    </Stack>
  );
}

/** Policies leads to policies, and to their editor where they may be changed. */
function Policies({ of, those }: { of: Key; those: ReturnType<typeof policiesOf> }): ReactElement | null {
  const t = useT();
  if (those.length === 0) return null;
  return (
    <Group gap="md" mt={6}>
      {those.map(({ namespace, name, viewerCan }) => (
        <PolicyLink
          key={`${namespace} ${name}`}
          instance={of.instance}
          namespace={namespace}
          name={name}
          edit={viewerCan.update}
          label={(text) => t(viewerCan.update ? 'workload.changePolicy' : 'workload.openPolicy', { name: text })}
        />
      ))}
    </Group>
  );
}

/** policiesOf are the policies that a stage stands at: those that its reasons name, and that which decides where the workload goes. */
function policiesOf({ policy }: Workload, step: NonNullable<Workload['explanation']>['steps'][number]) {
  if (step.state === 'PASSED' || step.state === 'NOT_REACHED') return [];
  const all = [...step.reasons.map((reason) => reason.policy), step.stage === 'SCHEDULING' ? policy : null].filter((p) => p !== null);
  return all.filter((p, i) => all.findIndex((other) => other.namespace === p.namespace && other.name === p.name) === i);
}
