import { Alert, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useMemo, useState, type ReactElement } from 'react';
import { useClient, type CombinedError } from 'urql';

import { useT } from '../app/i18n.ts';
import { Problem } from '../shared/Problem.tsx';
import { YamlEditor } from '../shared/YamlEditor.tsx';
import { apply, preview, read, write, type Outcome } from './change.ts';
import { propagates, type Key } from './kinds.ts';
import { OutcomeView } from './Outcome.tsx';
import { SpecForm } from './SpecForm.tsx';
import { specOf, type Json } from './spec.ts';

interface Props {
  of: Key;
  manifest: unknown;
  resourceVersion: string;
  mayUpdate: boolean;
  done: () => void;
}

/** Base is what a draft is based on. */
interface Base {
  text: string;
  resourceVersion: string;
  /** replaced is the version that this page's own change replaced, which may be read for a moment longer. */
  replaced: string;
  /** opened counts how often the editor began anew. */
  opened: number;
}

/** Editor changes the spec of a policy: it shows what that would do while it is typed, and applies no more than was shown. */
export function Editor({ of, manifest, resourceVersion, mayUpdate, done }: Props): ReactElement {
  const t = useT();
  const client = useClient();
  const current = useMemo(() => write(specOf(manifest)), [manifest]);
  const [base, setBase] = useState<Base>({ text: current, resourceVersion, replaced: '', opened: 0 });
  const [text, setText] = useState(current);
  const [settled] = useDebouncedValue(text, 500);
  const [shown, setShown] = useState<{ text: string; outcome: Outcome }>();
  const [again, setAgain] = useState(0);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<CombinedError>();
  const [applied, setApplied] = useState<string[]>();
  const draft = useMemo(() => read(settled), [settled]);
  const changed = text !== base.text;
  const moved = changed && base.text !== current && resourceVersion !== base.resourceVersion && resourceVersion !== base.replaced;

  /** open begins with a text anew. */
  const open = (next: { text: string; resourceVersion: string }): void => {
    setBase({ ...next, replaced: '', opened: base.opened + 1 });
    setText(next.text);
    setShown(undefined);
    setError(undefined);
  };
  useEffect(() => {
    if (resourceVersion === base.resourceVersion || resourceVersion === base.replaced) return;
    if (current === base.text) setBase({ ...base, resourceVersion, replaced: '' });
    else if (!changed) open({ text: current, resourceVersion }); // A draft that was not begun follows the policy.
  });
  useEffect(() => {
    if (settled === base.text || 'error' in draft) return undefined;
    let latest = true;
    void preview(client, of, { change: 'UPDATE', spec: draft.spec }).then((outcome) => latest && setShown({ text: settled, outcome }));
    return () => {
      latest = false;
    };
  }, [client, of, settled, draft, base.text, again]);

  const ready = changed && shown?.text === text && shown.outcome.is !== 'refused';
  const confirm = async (spec: Json, expect: string): Promise<void> => {
    setBusy(true);
    const result = await apply(client, of, base.resourceVersion, spec, expect);
    setBusy(false);
    setError(result.error);
    if (result.error) {
      setAgain((n) => n + 1); // What it would do now may be something else.
      done();
      return;
    }
    setApplied(result.warnings);
    setBase({ ...base, text, resourceVersion: result.resourceVersion ?? base.resourceVersion, replaced: base.resourceVersion, opened: base.opened + 1 });
    setShown(undefined);
    done();
  };

  return (
    <div className="kairship-split">
      <Stack gap="xs" component="section" aria-labelledby="spec">
        <Group justify="space-between">
          <Title order={2} id="spec">
            {t('policies.spec')}
          </Title>
          {changed && (
            <Button size="compact-sm" variant="subtle" onClick={() => open(base)}>
              {t('policies.discard')}
            </Button>
          )}
        </Group>
        {!mayUpdate && <Alert variant="light" color="gray" className="kairship-alert">{t('policies.mayNot')}</Alert>}
        {moved && (
          <Alert variant="light" color="orange" className="kairship-alert" role="alert">
            <Group justify="space-between">
              <Text size="sm">{t('policies.moved')}</Text>
              <Button size="compact-sm" variant="default" onClick={() => open({ text: current, resourceVersion })}>{t('policies.startAgain')}</Button>
            </Group>
          </Alert>
        )}
        {mayUpdate && <SpecForm instance={of.instance} kind={of.kind} text={text} change={setText} />}
        <Paper withBorder className="kairship-editor-frame">
          <YamlEditor key={base.opened} original={base.text} text={text} label={t('policies.spec')} readOnly={!mayUpdate} onChange={setText} />
        </Paper>
      </Stack>
      <Stack gap="xs" component="section" aria-labelledby="preview" aria-live="polite">
        <Title order={2} id="preview">
          {t('preview.title')}
        </Title>
        {!changed && applied === undefined && <Text size="sm" className="kairship-dimmed">{t(!mayUpdate ? 'policies.readOnlyHint' : propagates(of.kind) ? 'policies.previewHint' : 'policies.overrideHint')}</Text>}
        {!changed && applied !== undefined && <Alert color="teal" variant="light" className="kairship-alert">{[t('policies.applied'), ...applied].join(' ')}</Alert>}
        {changed && 'error' in draft && <Alert color="red" variant="light" className="kairship-alert">{draft.error}</Alert>}
        {changed && !('error' in draft) && (
          <>
            {shown && <OutcomeView of={shown.outcome} />}
            {shown?.text !== text && <Text size="sm" className="kairship-dimmed">{t('preview.asking')}</Text>}
            <Problem error={error} />
            <Group justify="flex-end">
              <Button
                disabled={!ready || moved}
                loading={busy}
                onClick={() => shown && shown.outcome.is !== 'refused' && void confirm(draft.spec, shown.outcome.of.fingerprint)}
              >
                {t('policies.apply')}
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </div>
  );
}
