import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import type { Search } from './search.ts';
import { readViews, withView, writeViews, type View } from './views.ts';

/** SavedViews are filters and orders that a person comes back to. */
export function SavedViews({ search }: { search: Search }): ReactElement {
  const t = useT();
  const [views, setViews] = useState(readViews);
  const [name, setName] = useState('');
  const [opened, setOpened] = useState(false);
  const keep = (next: View[]): void => {
    setViews(next);
    writeViews(next);
  };
  const save = (event: FormEvent): void => {
    event.preventDefault();
    keep(withView(views, { name: name.trim(), search }));
    setName('');
  };
  return (
    <Popover opened={opened} onChange={setOpened} trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default" onClick={() => setOpened(!opened)}>
          {t('views.title')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs" miw={240}>
          {views.length === 0 && (
            <Text size="sm" className="kairship-dimmed">
              {t('views.none')}
            </Text>
          )}
          {views.map((view) => (
            <Group key={view.name} justify="space-between" wrap="nowrap">
              <Link to="/workloads" search={view.search} onClick={() => setOpened(false)}>
                {view.name}
              </Link>
              <ActionIcon size="sm" variant="subtle" aria-label={t('views.remove', { name: view.name })} onClick={() => keep(views.filter((v) => v.name !== view.name))}>
                ×
              </ActionIcon>
            </Group>
          ))}
          <form onSubmit={save}>
            <Group gap="xs" wrap="nowrap" align="flex-end">
              <TextInput size="xs" label={t('views.name')} value={name} onChange={(event) => setName(event.currentTarget.value)} />
              <Button size="xs" type="submit" disabled={name.trim() === ''}>
                {t('views.save')}
              </Button>
            </Group>
          </form>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
