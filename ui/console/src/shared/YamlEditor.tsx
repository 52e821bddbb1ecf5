import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { linter, lintGutter, type Diagnostic } from '@codemirror/lint';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef, type ReactElement } from 'react';
import { parseDocument } from 'yaml';

import { nonce } from '../app/theme.ts';

interface Props {
  /** original is the text to begin with: what differs from it is marked. */
  original: string;
  /** text is what the editor shows; it follows what others write there. */
  text: string;
  label: string;
  readOnly: boolean;
  onChange: (text: string) => void;
}

/** The colours follow the theme of the page, by its variables. */
const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--kairship-code-key)' },
  { tag: [tags.string, tags.content], color: 'var(--mantine-color-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--kairship-code-value)' },
  { tag: tags.comment, color: 'var(--kairship-muted)', fontStyle: 'italic' },
]);

/** problems marks what is no YAML, where it is. */
const problems = linter(({ state }): Diagnostic[] =>
  parseDocument(state.doc.toString()).errors.map(({ pos, message }) => ({
    from: Math.min(pos[0], state.doc.length),
    to: Math.min(Math.max(pos[1], pos[0]), state.doc.length),
    severity: 'error',
    message: message.split('\n')[0] ?? message,
  })),
);

/** YamlEditor edits YAML. Tab leaves it, as it does every field. A new key begins anew: of the properties, only text and onChange may change. */
export function YamlEditor({ original, text, label, readOnly, onChange }: Props): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const first = useRef({ original, text, label, readOnly });
  useEffect(() => {
    const of = first.current;
    if (place.current === null) return undefined;
    const view = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: of.text,
        extensions: [
          EditorView.cspNonce.of(nonce()),
          lineNumbers(),
          history(),
          indentOnInput(),
          bracketMatching(),
          yaml(),
          syntaxHighlighting(colors),
          of.readOnly ? [EditorState.readOnly.of(true), EditorView.editable.of(false)] : [lintGutter(), problems, highlightActiveLine()],
          of.readOnly ? [] : unifiedMergeView({ original: of.original, mergeControls: false, gutter: true }),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': of.label, tabindex: '0' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    editor.current = view;
    return () => view.destroy();
  }, []);
  useEffect(() => {
    const view = editor.current;
    if (view && view.state.doc.toString() !== text) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }, [text]);
  return <div ref={place} className="kairship-editor" />;
}
