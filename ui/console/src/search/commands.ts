import { useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';

import { languages, setLanguage, useLanguage, useT, type Language } from '../app/i18n.ts';

/** Command is something that the search does besides finding. */
export interface Command {
  title: string;
  run: () => void;
}

/** useCommands are those whose title has the text: pages, themes and languages. */
export function useCommands(text: string): Command[] {
  const t = useT();
  const navigate = useNavigate();
  const language = useLanguage();
  const { setColorScheme } = useMantineColorScheme();
  return useMemo(() => {
    const all: Command[] = [
      { title: t('search.goTo', { page: t('app.fleet') }), run: () => void navigate({ to: '/' }) },
      { title: t('search.goTo', { page: t('app.workloads') }), run: () => void navigate({ to: '/workloads' }) },
      { title: t('search.unwell'), run: () => void navigate({ to: '/workloads', search: { health: ['DEGRADED', 'UNSCHEDULED', 'UNPROPAGATED'] } }) },
      { title: t('search.goTo', { page: t('app.policies') }), run: () => void navigate({ to: '/policies' }) },
      { title: t('search.goTo', { page: t('app.clusters') }), run: () => void navigate({ to: '/clusters' }) },
      { title: t('search.goTo', { page: t('app.graphiql') }), run: () => window.location.assign('/graphiql') },
      { title: `${t('app.theme')}: ${t('app.light')}`, run: () => setColorScheme('light') },
      { title: `${t('app.theme')}: ${t('app.dark')}`, run: () => setColorScheme('dark') },
      ...(Object.keys(languages) as Language[]).filter((of) => of !== language).map((of) => ({ title: languages[of], run: () => setLanguage(of) })),
    ];
    const wanted = text.trim().toLowerCase();
    return wanted === '' ? all : all.filter((command) => command.title.toLowerCase().includes(wanted));
  }, [t, navigate, language, setColorScheme, text]);
}
