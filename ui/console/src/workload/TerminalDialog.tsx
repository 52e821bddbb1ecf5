import { Alert, Button, Group, NativeSelect, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { lazy, Suspense, useState, type ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { Dialog } from '../shared/Dialog.tsx';
import type { Container } from './session.ts';

const Screen = lazy(() => import('./Screen.tsx').then((module) => ({ default: module.Screen })));

interface Props {
  of: Omit<Container, 'container'>;
  containers: string[];
  close: () => void;
}

/** Run is one session: each has a number, and begins with a click. */
interface Run {
  number: number;
  container: string;
  command: string[];
  /** end is how it ended; undefined while it runs. */
  end?: { wasOpen: boolean; message: string | null };
}

/** TerminalDialog runs a command in a container of a pod, with a terminal. The command is in the audit. */
export function TerminalDialog({ of, containers, close }: Props): ReactElement {
  const t = useT();
  const [container, setContainer] = useState(containers[0] ?? '');
  const [command, setCommand] = useState('sh');
  const [run, setRun] = useState<Run>();
  const words = command.split(/\s+/).filter((word) => word !== '');
  const running = run !== undefined && run.end === undefined;
  const begin = (): void => setRun({ number: (run?.number ?? 0) + 1, container, command: words });
  return (
    <Dialog close={close} size="80rem" title={t('terminal.title', { pod: of.pod, cluster: of.clusterName })} closeOnEscape={!running}>
      <Stack gap="sm">
        <form
          onSubmit={(e) => {
            e.preventDefault();
            begin();
          }}
        >
          <Group gap="sm" align="flex-end">
            {containers.length > 1 && (
              <NativeSelect label={t('action.container')} data={containers} value={container} onChange={(e) => setContainer(e.currentTarget.value)} disabled={running} />
            )}
            <TextInput label={t('terminal.command')} className="kairship-mono" value={command} onChange={(e) => setCommand(e.currentTarget.value)} disabled={running} data-autofocus />
            {running ? (
              <Button variant="default" onClick={() => setRun(undefined)}>
                {t('terminal.end')}
              </Button>
            ) : (
              <Button type="submit" disabled={words.length === 0}>
                {t('terminal.run')}
              </Button>
            )}
          </Group>
        </form>
        <Text size="xs" className="kairship-dimmed">{t('terminal.audited')}</Text>
        {run?.end && <End of={run.end} cluster={of.clusterName} />}
        {run && (
          <Suspense fallback={<Skeleton h={400} />}>
            <Screen
              key={run.number}
              of={{ ...of, container: run.container }}
              command={run.command}
              label={t('terminal.screen')}
              ended={(wasOpen, message) => setRun({ ...run, end: { wasOpen, message } })}
            />
          </Suspense>
        )}
      </Stack>
    </Dialog>
  );
}

/** End shows how a session ended. A browser does not tell pages why a WebSocket was refused. */
function End({ of, cluster }: { of: { wasOpen: boolean; message: string | null }; cluster: string }): ReactElement {
  const t = useT();
  const why = of.message !== null && of.message !== '' ? of.message : of.wasOpen ? t('terminal.lost') : t('terminal.refused', { cluster });
  return (
    <Alert role="status" color={of.message === null ? 'teal' : 'orange'} variant="light" className="kairship-alert">
      {of.message === null ? t('terminal.ended') : why}
    </Alert>
  );
}
