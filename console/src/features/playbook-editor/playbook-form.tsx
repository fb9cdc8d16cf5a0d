import { type ReactNode, useState } from 'react';
import { type FieldProblemView, wrongOf } from '../../lib/api.js';
import { jsonObjectOf } from '../../lib/exact-json.js';
import { labelsOfLines, linesOfLabels } from '../../lib/label-text.js';
import { type TextForm, useTyped } from '../../lib/use-typed.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { TextArea, TextField } from '../../ui/controls.js';
import { Card, Note, Stack } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import type { Draft } from './draft.js';

export interface PlaybookFieldsProps {
  readonly draft: Draft;
  readonly onChange: (changes: Draft) => void;
  readonly problems: readonly FieldProblemView[];
}

interface DraftFieldProps extends PlaybookFieldsProps {
  readonly name:
    | 'playbook_id'
    | 'name'
    | 'description'
    | 'when_to_use'
    | 'when_not_to_use'
    | 'version'
    | 'change_summary'
    | 'owner';
  readonly label: string;
  readonly help?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  /** Absent: it has one line. */
  readonly rows?: number;
}

/** A text of the draft; an empty one that is not required is left out. */
function DraftField({ name, draft, onChange, problems, rows, ...rest }: DraftFieldProps): ReactNode {
  const field = {
    ...{ ...rest, value: draft[name] ?? '', wrong: wrongOf(problems, name) },
    onText: (text: string) => onChange({ [name]: rest.required === true ? text : text || undefined }),
  };
  return rows === undefined ? <TextField {...field} /> : <TextArea {...field} rows={rows} />;
}

/** The fields that search reads, and an LLM after it. */
export function SearchedFields({
  isKnown,
  ...props
}: PlaybookFieldsProps & { readonly isKnown: boolean }): ReactNode {
  return (
    <Card title="Searched by agents">
      <Stack>
        {!isKnown && (
          <DraftField {...props} name="playbook_id" label="Id" placeholder="cluster-dns-repair" required />
        )}
        <DraftField
          {...{ ...props, name: 'name', label: 'Name' }}
          placeholder="Repair name resolution inside the cluster"
          required
        />
        <DraftField
          {...{ ...props, name: 'description', label: 'Description', rows: 4 }}
          required
          help="An LLM reads it to choose a playbook: when it fits, and what it does."
        />
        <PhrasesField
          {...{ ...props, name: 'signals', label: 'Signals' }}
          help="Exact texts that the incident shows, one per line: reasons, alerts, messages, exit codes."
        />
        <PhrasesField
          {...{ ...props, name: 'aliases', label: 'Also called' }}
          help="Other names, one per line, also those that people use who do not know the cause."
        />
        <DraftField {...props} name="when_to_use" label="Use it when" rows={2} />
        <DraftField {...props} name="when_not_to_use" label="Not when" rows={2} />
        <LabelsField {...props} />
      </Stack>
    </Card>
  );
}

interface PhrasesFieldProps extends PlaybookFieldsProps {
  readonly name: 'signals' | 'aliases';
  readonly label: string;
  readonly help: string;
}

const phrases: TextForm<readonly string[]> = {
  read: (text) => text.split('\n').filter((line) => line.trim() !== ''),
  write: (lines) => lines.join('\n'),
};

function PhrasesField({ name, label, help, draft, onChange, problems }: PhrasesFieldProps): ReactNode {
  const [text, setText] = useTyped(draft[name] ?? [], phrases, (lines) => onChange({ [name]: lines }));
  return (
    <TextArea {...{ label, help, rows: 3 }} value={text} wrong={wrongOf(problems, name)} onText={setText} />
  );
}

const labelLines = { read: labelsOfLines, write: linesOfLabels } as const;

function LabelsField({ draft, onChange, problems }: PlaybookFieldsProps): ReactNode {
  const [text, setText] = useTyped(draft.labels ?? {}, labelLines, (labels) => onChange({ labels }));
  return (
    <TextArea
      label="Labels"
      rows={3}
      value={text}
      wrong={wrongOf(problems, 'labels')}
      onText={setText}
      placeholder={'environment: production, staging\npriority: *'}
      help="Situations that it is for, one key per line. A key that is not listed is not compared; * means any value."
    />
  );
}

/** Facts of this version, and who answers for it. */
export function VersionFields({
  isKnown,
  ...props
}: PlaybookFieldsProps & { readonly isKnown: boolean }): ReactNode {
  return (
    <Card title="This version">
      <Stack>
        <DraftField
          {...{ ...props, name: 'version', label: 'Version' }}
          required
          help="Must be greater than all earlier versions. A saved version never changes."
        />
        {isKnown && <DraftField {...props} name="change_summary" label="What changed" rows={2} />}
        <DraftField {...props} name="owner" label="Owner" />
        <NumberField {...{ ...props, name: 'expected_success_rate', label: 'Expected success, 0 to 1' }} />
        <NumberField
          {...{ ...props, name: 'expected_duration_seconds', label: 'Expected duration, seconds' }}
        />
      </Stack>
    </Card>
  );
}

interface NumberFieldProps extends PlaybookFieldsProps {
  readonly name: 'expected_success_rate' | 'expected_duration_seconds';
  readonly label: string;
}

const digits: TextForm<Draft['expected_success_rate']> = {
  read: (text) => (text === '' ? undefined : Number(text)),
  write: (value) => value?.toString() ?? '',
};

function NumberField({ name, label, draft, onChange, problems }: NumberFieldProps): ReactNode {
  const [text, setText] = useTyped(draft[name], digits, (value) => onChange({ [name]: value }));
  return (
    <TextField
      label={label}
      type="number"
      step="any"
      min={0}
      value={text}
      wrong={wrongOf(problems, name)}
      onText={setText}
    />
  );
}

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
