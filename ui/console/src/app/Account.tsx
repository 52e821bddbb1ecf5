import { Button, Menu, useMantineColorScheme } from '@mantine/core';
import type { ReactElement } from 'react';

import { signOut } from '../api/session.ts';
import { languages, setLanguage, useLanguage, useT, type Language } from './i18n.ts';
import { useViewer } from './viewer.ts';

/** Account is the menu of who is signed in: theme, language, and signing out. */
export function Account(): ReactElement {
  const t = useT();
  const language = useLanguage();
  const viewer = useViewer();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const leave = async (everywhere: boolean): Promise<void> => {
    const next = await signOut(everywhere);
    if (next) window.location.assign(next);
    else viewer.signedOut();
  };
  const mark = (on: boolean): string | undefined => (on ? '✓' : undefined);
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" className="kairship-account">
          {viewer.username}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t('app.theme')}</Menu.Label>
        {(['auto', 'light', 'dark'] as const).map((scheme) => (
          <Menu.Item key={scheme} rightSection={mark(colorScheme === scheme)} onClick={() => setColorScheme(scheme)}>
            {t(scheme === 'auto' ? 'app.system' : `app.${scheme}`)}
          </Menu.Item>
        ))}
        <Menu.Label>{t('app.language')}</Menu.Label>
        {(Object.keys(languages) as Language[]).map((of) => (
          <Menu.Item key={of} lang={of} rightSection={mark(language === of)} onClick={() => setLanguage(of)}>
            {languages[of]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void leave(false)}>{t('app.signOut')}</Menu.Item>
        <Menu.Item onClick={() => void leave(true)}>{t('app.signOutEverywhere')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
