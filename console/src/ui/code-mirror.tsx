import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  StreamLanguage,
  syntaxHighlighting,
} from '@codemirror/language';
import { linter, lintGutter, setDiagnostics } from '@codemirror/lint';
import { searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension, Transaction } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { type ReactNode, useEffect, useEffectEvent, useRef } from 'react';
import css from './code-mirror.module.css';

export interface CodeMirrorProps {
  readonly label: string;
  readonly value: string;
  /** Absent: the text is read-only. */
  readonly onChange?: ((value: string) => void) | undefined;
  /** File name extension. Text with an unknown one is not highlighted. */
  readonly language?: string | undefined;
  /** The line of an error, from 1. */
  readonly mark?: { readonly line: number; readonly message: string } | undefined;
}

/** Nonce by which the page's policy allows the editor's style element. */
const nonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

const script = async (): Promise<Extension> => {
  const { javascript } = await import('@codemirror/lang-javascript');
  return javascript({ typescript: true });
};
const shell = async (): Promise<Extension> =>
  StreamLanguage.define((await import('@codemirror/legacy-modes/mode/shell')).shell);
const languages: Readonly<Record<string, () => Promise<Extension>>> = {
  py: async () => [(await import('@codemirror/lang-python')).python(), indentUnit.of('    ')],
  ...{ js: script, mjs: script, cjs: script, ts: script, mts: script },
  ...{ sh: shell, bash: shell },
};

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--code-text)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--code-value)' },
  { tag: [tags.propertyName, tags.definition(tags.variableName), tags.className], color: 'var(--code-name)' },
  { tag: [tags.comment, tags.meta], color: 'var(--muted)' },
]);

/** The editor itself. Tab leaves it, like any field. */
export function CodeMirror({ label, value, onChange, language = 'json', mark }: CodeMirrorProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const isFixed = onChange === undefined;
  const changed = useEffectEvent((text: string) => onChange?.(text));
  useEffect(() => {
    const parent = frame.current;
    if (!parent) return undefined;
    const colouring = new Compartment();
    const own = isFixed ? fixed : editable((text) => changed(text));
    const first = language === 'json' ? [json(), isFixed ? [] : linter(jsonParseLinter())] : [];
    const extensions = [own, common(label), colouring.of(first)];
    const made = new EditorView({ parent, state: EditorState.create({ extensions }) });
    void languages[language]?.().then((its) => {
      if (view.current === made) made.dispatch({ effects: colouring.reconfigure(its) });
    });
    view.current = made;
    return () => made.destroy();
  }, [label, language, isFixed]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    // Undo takes back what was typed, not the text that was opened.
    editor.dispatch({
      changes: { from: 0, to: editor.state.doc.length, insert: value },
      annotations: Transaction.addToHistory.of(false),
    });
  }, [value, label, language, isFixed]);
  useEffect(() => {
    if (view.current) showMark(view.current, mark);
  }, [mark?.line, mark?.message, language]);
  return <div ref={frame} className={css.editor} data-editor />;
}

const common = (label: string): Extension => [
  EditorView.cspNonce.of(nonce()),
  EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
  foldGutter(),
  syntaxHighlighting(colours),
  keymap.of([...foldKeymap, ...searchKeymap]),
  EditorView.lineWrapping,
];

const fixed: Extension = [EditorState.readOnly.of(true), EditorView.editable.of(false)];

/** A browser keeps the colour of a text that is typed over as an inline style, which the policy forbids. */
const typedOver = EditorView.domEventHandlers({
  beforeinput({ inputType, data }, view) {
    const range = document.getSelection();
    if (inputType !== 'insertText' || data === null || view.composing) return false;
    // The editor gets a selection a moment after it was made.
    if (view.state.selection.main.empty && range?.anchorNode && range.focusNode && !range.isCollapsed) {
      const anchor = view.posAtDOM(range.anchorNode, range.anchorOffset);
      view.dispatch({ selection: { anchor, head: view.posAtDOM(range.focusNode, range.focusOffset) } });
    }
    if (view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

const editable = (changed: (text: string) => void): Extension => [
  typedOver,
  lintGutter(),
  lineNumbers(),
  history(),
  indentOnInput(),
  bracketMatching(),
  keymap.of([...defaultKeymap, ...historyKeymap]),
  EditorView.updateListener.of((update) => {
    if (update.docChanged) changed(update.state.doc.toString());
  }),
];

/** Marks a line and scrolls to it; undefined removes the mark. */
function showMark(editor: EditorView, mark: CodeMirrorProps['mark']): void {
  const { doc } = editor.state;
  if (!mark || mark.line > doc.lines) return editor.dispatch(setDiagnostics(editor.state, []));
  const { from, to } = doc.line(mark.line);
  editor.dispatch(setDiagnostics(editor.state, [{ from, to, severity: 'error', message: mark.message }]), {
    effects: EditorView.scrollIntoView(from, { y: 'center' }),
  });
}
