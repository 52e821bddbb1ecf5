import '@xterm/xterm/css/xterm.css';

import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { useEffect, useRef, type ReactElement } from 'react';

import { nonce } from '../app/theme.ts';
import { begin, type Container } from './session.ts';

interface Props {
  of: Container;
  command: string[];
  label: string;
  /** ended is told once why there is no session, or none any more; null for a command that succeeded. */
  ended: (wasOpen: boolean, message: string | null) => void;
}

/** withNonce has the style sheets that are made meanwhile carry what the content security policy asks for. */
function withNonce(make: () => void): void {
  const plain = document.createElement.bind(document) as (name: string, options?: ElementCreationOptions) => HTMLElement;
  document.createElement = ((name: string, options?: ElementCreationOptions): HTMLElement => {
    const element = plain(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce();
    return element;
  }) as Document['createElement'];
  try {
    make();
  } finally {
    delete (document as { createElement?: unknown }).createElement; // That of all documents is below it.
  }
}

/** Screen is a terminal of one session. A new key begins another one: its properties don't change. */
export function Screen({ of, command, label, ended }: Props): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const first = useRef({ of, command, ended });
  useEffect(() => {
    if (place.current === null) return undefined;
    const terminal = new Terminal({ cursorBlink: true, fontSize: 13, fontFamily: 'ui-monospace, monospace', screenReaderMode: true, theme: { background: '#15181e' } });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    const box = place.current;
    withNonce(() => terminal.open(box));
    const session = begin(first.current.of, first.current.command, {
      opened: () => {
        session.resize(terminal.cols, terminal.rows);
        terminal.focus();
      },
      output: (bytes) => terminal.write(bytes),
      ended: (wasOpen, message) => {
        terminal.options.cursorBlink = false;
        terminal.options.disableStdin = true;
        first.current.ended(wasOpen, message);
      },
    });
    terminal.onData((text) => session.send(text));
    terminal.onResize(({ cols, rows }) => session.resize(cols, rows));
    const size = new ResizeObserver(() => fit.fit());
    size.observe(box);
    return () => {
      size.disconnect();
      session.close();
      terminal.dispose();
    };
  }, []);
  return <div ref={place} className="kairship-terminal" role="group" aria-label={label} />;
}
