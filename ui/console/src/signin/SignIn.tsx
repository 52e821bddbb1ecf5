import { Alert, Button, Center, Divider, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useEffect, useState, type FormEvent, type ReactElement } from 'react';

import { sessionState, setToken } from '../api/session.ts';
import { Logo } from '../app/Logo.tsx';
import { useT } from '../app/i18n.ts';

/** Reason is why a person has to sign in. */
export type Reason = 'wrong' | 'unreachable' | 'ended' | 'denied' | 'expired' | 'refused' | 'unavailable';

export function SignIn({ reason, signedIn }: { reason?: Reason; signedIn: () => Promise<void> }): ReactElement {
  const t = useT();
  const [at, setAt] = useState('');
  const [value, setValue] = useState('');
  const [busy, setBusy] = useState(false);

  useEffect(() => {
    document.title = `${t('signIn.title')} · Kairship`;
    void sessionState().then((state) => setAt(state?.signIn ?? ''));
  }, [t]);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setToken(value.trim());
    await signedIn();
    setBusy(false);
  };
  const back = window.location.pathname + window.location.search;
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw={400} shadow="sm">
        <Stack gap="md">
          <Stack gap="xs" align="center">
            <Logo size={40} />
            <Title order={1}>{t('signIn.title')}</Title>
          </Stack>
          {reason && (
            <Alert color={reason === 'ended' ? 'blue' : 'red'} role="alert" className="kairship-alert">
              {t(`signIn.${reason}`)}
            </Alert>
          )}
          {at !== '' && (
            <>
              <Button component="a" href={`${at}?return=${encodeURIComponent(back)}`} fullWidth>
                {t('signIn.provider')}
              </Button>
              <Divider label={t('signIn.or')} labelPosition="center" />
            </>
          )}
          <form onSubmit={(event) => void submit(event)}>
            <Stack gap="sm">
              <PasswordInput label={t('signIn.token')} value={value} onChange={(e) => setValue(e.currentTarget.value)} autoComplete="off" required />
              <Text size="xs" className="kairship-dimmed">
                {t('signIn.tokenHint')}
              </Text>
              <Button type="submit" variant={at === '' ? 'filled' : 'default'} loading={busy} disabled={value.trim() === ''}>
                {t('signIn.withToken')}
              </Button>
            </Stack>
          </form>
        </Stack>
      </Paper>
    </Center>
  );
}
