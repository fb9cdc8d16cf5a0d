import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { FieldProblemView } from '../lib/api.js';
import { CodeEditor } from './code-editor.js';
import { Muted, Note, Stack } from './layout.js';
import { Modes } from './modes.js';
import { Loading } from './states.js';

export const SchemaForm = lazy(() =>
  import('./schema-form/schema-form.js').then(({ SchemaForm: it }) => ({ default: it })),
);

interface InputEditorProps {
  readonly schema: Readonly<Record<string, unknown>>;
  /** The input as JSON, which is sent. */
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly problems: readonly FieldProblemView[];
}

/** Edits a tool's input as fields or as JSON. */
export function InputEditor({ schema, text, onText, problems }: InputEditorProps): ReactNode {
  const [mode, setMode] = useState<'form' | 'json'>('form');
  const value = parsed(text);
  const elsewhere = problems.filter(({ pointer }) => mode === 'json' || !pointer.startsWith('/input'));
  return (
    <Stack tight>
      <Modes
        label="How the input is written"
        names={{ form: 'Form', json: 'JSON' }}
        value={mode}
        onChange={setMode}
        isOff={(each) => each === 'form' && value === undefined}
      />
      {mode === 'form' && value !== undefined ? (
        <Suspense fallback={<Loading lines={3} />}>
          <SchemaForm
            schema={schema}
            value={value}
            problems={problems}
            onChange={(changed) => onText(JSON.stringify(changed ?? {}, null, 2))}
          />
        </Suspense>
      ) : (
        <CodeEditor label="Input as JSON" value={text} onChange={onText} />
      )}
      {value === undefined && <Muted>A form needs valid JSON.</Muted>}
      {elsewhere.map(({ pointer, detail }) => (
        <Note key={pointer + detail} tone="bad" alert>
          <code>{pointer}</code> {detail}
        </Note>
      ))}
    </Stack>
  );
}

/** Undefined for a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
