import { Button, Group, Stack } from '@mantine/core';
import { useEffect, useRef, type FormEvent, type ReactElement, type ReactNode } from 'react';

import { useT } from '../app/i18n.ts';
import { Dialog } from './Dialog.tsx';
import { Operation, type Cancel } from './Operation.tsx';
import { Problem } from './Problem.tsx';
import type { Trial } from './useTrial.ts';

interface Props {
  of: Trial<unknown>;
  title: string;
  /** confirm says what is done. */
  confirm: string;
  /** complete reports whether all is filled in that it takes; false keeps it from being tried or done. */
  complete?: boolean;
  color?: string | undefined;
  /** cancel takes back what is under way. */
  cancel?: Cancel | undefined;
  /** children are the fields, and what the dry run answered. They give way to the progress. */
  children: ReactNode;
}

/** TrialDialog has a mutation tried, done when a person confirms it, and followed to its end. */
export function TrialDialog({ of, title, confirm, complete = true, color, cancel, children }: Props): ReactElement {
  const t = useT();
  const form = useRef<HTMLFormElement>(null);
  const wrong = Object.keys(of.errors)[0];
  useEffect(() => {
    if (wrong !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [wrong]);
  const send = (event: FormEvent): void => {
    event.preventDefault();
    if (complete && !of.busy) void of.send();
  };
  return (
    <Dialog close={of.close} title={title} size="lg">
      <form ref={form} onSubmit={send}>
        <Stack gap="md">
          {of.operation === undefined ? children : <Operation id={of.operation} done={of.done} cancel={cancel} />}
          <Problem error={of.refused} />
          <Group justify="flex-end">
            <Button variant="default" onClick={of.close}>
              {t(of.begun ? 'bulk.close' : 'action.cancel')}
            </Button>
            {of.begun === undefined && (
              <Button type="submit" color={color} loading={of.busy} disabled={!complete || (of.automatic && of.tried === undefined)} data-autofocus={of.automatic || undefined}>
                {of.automatic || of.tried ? confirm : t('access.try')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
