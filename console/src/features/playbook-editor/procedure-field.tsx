import { type ReactNode, useState } from 'react';
import { wrongOf } from '../../lib/api.js';
import { jsonObjectOf } from '../../lib/exact-json.js';
import { type TextForm, useTyped } from '../../lib/use-typed.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { Card, Note, Stack } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import type { Draft } from './draft.js';
import type { PlaybookFieldsProps } from './playbook-form.js';

type Form = 'text' | 'json';
type Content = Draft['content'];

const write = (content: Content): string =>
  typeof content === 'object' ? JSON.stringify(content, null, 2) : (content ?? '');
const forms: Readonly<Record<Form, TextForm<Content>>> = {
  text: { read: (text) => text, write },
  json: { read: jsonObjectOf, write },
};
const formOf = (content: Content): Form => (typeof content === 'object' ? 'json' : 'text');

/** The procedure: text for its executor, or an object. Malformed JSON is rejected by the server. */
export function ProcedureField({ draft, onChange, problems }: PlaybookFieldsProps): ReactNode {
  const { content } = draft;
  const [chosen, setChosen] = useState(formOf(content));
  const form = content === undefined ? chosen : formOf(content);
  const [text, setText] = useTyped(content, forms[form], (changed) => onChange({ content: changed }));
  const wrong = wrongOf(problems, 'content');
  const take = (as: Form): void => {
    setChosen(as);
    onChange({ content: forms[as].read(text) });
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
        <CodeEditor label="Procedure" value={text} onChange={setText} language={form} />
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
