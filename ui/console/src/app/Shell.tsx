import { AppShell, Burger, Group, NavLink, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useSyncExternalStore, type ReactElement } from 'react';

import { currentConnection, onConnection } from '../api/client.ts';
import { AnchorLink, NavigationLink } from '../shared/links.tsx';
import { SearchButton } from '../search/Search.tsx';
import { Account } from './Account.tsx';
import { Logo } from './Logo.tsx';
import { useT } from './i18n.ts';

const pages = [
  ['/', 'app.fleet'],
  ['/workloads', 'app.workloads'],
  ['/policies', 'app.policies'],
  ['/clusters', 'app.clusters'],
  ['/activity', 'app.activity'],
] as const;

/** Live shows whether changes arrive as they happen. */
function Live(): ReactElement | null {
  const t = useT();
  const connection = useSyncExternalStore(onConnection, currentConnection);
  if (connection === 'idle') return null;
  return (
    <Text size="xs" role="status" className={connection === 'lost' ? 'kairship-warning' : 'kairship-live'}>
      {connection === 'lost' ? t('app.reconnecting') : t('app.live')}
    </Text>
  );
}

/** Shell is what is around every page. */
export function Shell(): ReactElement {
  const t = useT();
  const [opened, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  useEffect(close, [close, pathname]);
  const section = (path: string): boolean => (path === '/' ? /^\/(instances\/[^/]+(\/access)?)?$/.test(pathname) : `${pathname}/`.includes(`${path}/`));
  return (
    <AppShell header={{ height: 52 }} navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !opened } }} padding="md">
      <AppShell.Header>
        <a className="kairship-skip" href="#content">
          {t('app.skip')}
        </a>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t('app.menu')} aria-expanded={opened} />
            <AnchorLink to="/" underline="never" c="inherit">
              <Group gap={8} wrap="nowrap">
                <Logo />
                <Text fw={700} size="lg">
                  {t('app.name')}
                </Text>
              </Group>
            </AnchorLink>
          </Group>
          <Group gap="md" wrap="nowrap">
            <SearchButton />
            <Live />
            <Account />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" component="nav" aria-label={t('app.navigation')}>
        {pages.map(([path, title]) => (
          <NavigationLink key={path} to={path} label={t(title)} active={section(path)} aria-current={section(path) ? 'page' : undefined} />
        ))}
        <NavLink href="/graphiql" label={t('app.graphiql')} mt="auto" />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}
