import type { ReactNode } from 'react';
import { type FieldProblemView, wrongOf } from '../../lib/api.js';
import { labelsOfLines, linesOfLabels } from '../../lib/label-text.js';
import { type TextForm, useTyped } from '../../lib/use-typed.js';
import { TextArea, TextField } from '../../ui/controls.js';
import { Card, Stack } from '../../ui/layout.js';
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
export function DraftField({ name, draft, onChange, problems, rows, ...rest }: DraftFieldProps): ReactNode {
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
    <Card title="What agents find it by">
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
          help="An LLM chooses by it: when it fits, and what it does."
        />
        <PhrasesField
          {...{ ...props, name: 'signals', label: 'Signals' }}
          help="What the incident shows, letter by letter, one a line: reasons, alerts, messages, exit codes."
        />
        <PhrasesField
          {...{ ...props, name: 'aliases', label: 'Also called' }}
          help="Other words for the same, one a line, also of people who do not know the cause."
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
      help="For which situations, one key a line. Without a key it is not bound by it; * means any."
    />
  );
}
