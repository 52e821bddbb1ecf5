import { Modal, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useHotkeys } from '@mantine/hooks';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import { useQuery } from 'urql';

import { useT } from '../app/i18n.ts';
import { Problem } from '../shared/Problem.tsx';
import { useCommands, type Command } from './commands.ts';
import { addressOf, different, type Hit } from './hits.ts';
import { SearchQuery } from './queries.ts';

/** Choice is a line of the list: a command of the page, or something that was found. */
type Choice = { is: 'command'; command: Command } | { is: 'hit'; hit: Hit };

/** SearchButton opens the search, as ⌘K and Ctrl+K do. */
export function SearchButton(): ReactElement {
  const t = useT();
  const [opened, setOpened] = useState(false);
  useHotkeys([['mod+K', () => setOpened(true)]], []);
  return (
    <>
      <button type="button" className="kairship-search" onClick={() => setOpened(true)} aria-keyshortcuts="Control+K Meta+K">
        <span aria-hidden>⌕</span>
        <span className="kairship-search-label">{t('search.placeholder')}</span>
        <kbd aria-hidden>{navigator.platform.startsWith('Mac') ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      {opened && (
        <Modal.Root opened onClose={() => setOpened(false)} size="lg" padding={0} yOffset="10vh" transitionProps={{ duration: 0 }}>
          <Modal.Overlay />
          <Modal.Content aria-label={t('search.open')}>
            <Panel close={() => setOpened(false)} />
          </Modal.Content>
        </Modal.Root>
      )}
    </>
  );
}

/** Panel is the text, and what fits it; arrows choose, Enter opens. */
function Panel({ close }: { close: () => void }): ReactElement {
  const t = useT();
  const { history } = useRouter();
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const [text, setText] = useState('');
  const [settled] = useDebouncedValue(text.trim(), 180);
  const [at, setAt] = useState(0);
  const [{ data, error, fetching }] = useQuery({ query: SearchQuery, variables: { text: settled }, pause: settled === '' });
  const commands = useCommands(text);
  const choices = useMemo<Choice[]>(() => {
    const hits = settled === '' ? [] : different(data?.search.hits ?? []);
    return [...hits.map((hit) => ({ is: 'hit', hit }) as const), ...commands.map((command) => ({ is: 'command', command }) as const)];
  }, [commands, data, settled]);
  useEffect(() => setAt(0), [settled]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [at]);

  const open = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    close();
    if (choice.is === 'command') choice.command.run();
    else history.push(addressOf(choice.hit));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') open(choices[at]);
    else if (event.key === 'ArrowDown') setAt((i) => Math.min(i + 1, choices.length - 1));
    else if (event.key === 'ArrowUp') setAt((i) => Math.max(i - 1, 0));
    else return;
    event.preventDefault();
  };
  const waiting = fetching || settled !== text.trim();
  return (
    <div className="kairship-palette">
      <TextInput
        variant="unstyled"
        size="lg"
        px="md"
        autoFocus
        data-autofocus
        placeholder={t('search.placeholder')}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        role="combobox"
        aria-label={t('search.placeholder')}
        aria-expanded
        aria-controls={id}
        aria-activedescendant={choices.length > 0 ? `${id}-${at}` : undefined}
      />
      <Problem error={error} part={data !== undefined} />
      <ul ref={list} id={id} role="listbox" aria-label={t('search.results')} className="kairship-choices">
        {choices.map((choice, i) => (
          <li key={i} id={`${id}-${i}`} role="option" aria-selected={i === at} className="kairship-choice" onMouseMove={() => setAt(i)} onClick={() => open(choice)}>
            {choice.is === 'hit' ? <HitLine hit={choice.hit} /> : <><b>{choice.command.title}</b><small>{t('search.command')}</small></>}
          </li>
        ))}
      </ul>
      <Text size="xs" px="md" py={8} className="kairship-dimmed" role="status">
        {text.trim() !== '' && !waiting && choices.length === 0 ? t('search.none') : waiting && text.trim() !== '' ? t('search.searching') : data?.search.hasMore ? t('search.more') : t('search.keys')}
      </Text>
    </div>
  );
}

/** HitLine is what was found, where it is, and by what. */
function HitLine({ hit }: { hit: Hit }): ReactElement {
  const t = useT();
  const where = [hit.instance?.name, hit.clusterName].filter(Boolean).join(' · ');
  const by = hit.matchedBy === 'NAME' || hit.matchedBy === 'TEXT' ? '' : hit.matchedText;
  return (
    <>
      <span className="kairship-choice-kind">{hit.kind || t(`search.type.${hit.type}`)}</span>
      <span className="kairship-choice-name">
        <b>
          {hit.namespace && `${hit.namespace}/`}
          {hit.name}
        </b>
        {by && <small> {by}</small>}
      </span>
      <small>{where}</small>
    </>
  );
}
