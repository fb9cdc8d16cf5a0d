import { lazy, type ReactNode, Suspense, useState } from 'react';
import { jsonObjectOf } from '../../lib/json-object.js';
import { useTyped } from '../../lib/use-typed.js';
import { Card, Note, Stack } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Loading } from '../../ui/states.js';
import { type PlaybookFieldsProps, wrongOf } from './playbook-form.js';

const CodeEditor = lazy(() =>
  import('../../ui/code-editor.js').then(({ CodeEditor: it }) => ({ default: it })),
);

type Form = 'text' | 'json';

/** The procedure: text as its executor reads it, or an object. A broken object is no procedure, and the server says so. */
export function ProcedureField({ draft, onChange, problems }: PlaybookFieldsProps): ReactNode {
  const { content } = draft;
  const [form, setForm] = useState<Form>(typeof content === 'object' ? 'json' : 'text');
  const read = (text: string, as: Form): void =>
    onChange({ content: as === 'text' ? text : jsonObjectOf(text) });
  const written = typeof content === 'object' ? JSON.stringify(content, null, 2) : (content ?? '');
  const [text, setText] = useTyped(written, (typed) => read(typed, form));
  const wrong = wrongOf(problems, 'content');
  const take = (as: Form): void => {
    setForm(as);
    read(text, as);
  };
  return (
    <Card
      title="Procedure"
      actions={
        <Modes
          label="How the procedure is written"
          names={{ text: 'Text', json: 'JSON' }}
          value={form}
          onChange={take}
        />
      }
    >
      <Stack tight>
        <Suspense fallback={<Loading lines={4} />}>
          <CodeEditor label="Procedure" value={text} onChange={setText} language={form} />
        </Suspense>
        {form === 'json' && content === undefined && text !== '' && (
          <Note tone="warn">This is no JSON object yet. Text of any other form is saved as Text.</Note>
        )}
        {wrong !== undefined && (
          <Note tone="bad" alert>
            {wrong}
          </Note>
        )}
      </Stack>
    </Card>
  );
}
