import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import {
  bracketMatching,
  defaultHighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { linter } from '@codemirror/lint';
import { searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { type ReactNode, useEffect, useEffectEvent, useRef } from 'react';
import css from './code-mirror.module.css';

export interface CodeMirrorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly language?: 'json' | 'text';
}

/** The page's policy takes the editor's one style element by this nonce. */
const nonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

/** The editor itself. Tab leaves it, as it leaves every field. */
export function CodeMirror({ label, value, onChange, language = 'json' }: CodeMirrorProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useEffectEvent(onChange);
  useEffect(() => {
    const parent = frame.current;
    if (!parent) return undefined;
    const made = new EditorView({ parent, state: stateOf(label, language, (text) => changed(text)) });
    view.current = made;
    return () => made.destroy();
  }, [label, language]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value, label, language]);
  return <div ref={frame} className={css.editor} data-editor />;
}

function stateOf(label: string, language: 'json' | 'text', changed: (text: string) => void): EditorState {
  return EditorState.create({
    extensions: [
      EditorView.cspNonce.of(nonce()),
      EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
      lineNumbers(),
      history(),
      indentOnInput(),
      bracketMatching(),
      syntaxHighlighting(defaultHighlightStyle),
      keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
      EditorView.lineWrapping,
      ...(language === 'json' ? [json(), linter(jsonParseLinter())] : []),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed(update.state.doc.toString());
      }),
    ],
  });
}
