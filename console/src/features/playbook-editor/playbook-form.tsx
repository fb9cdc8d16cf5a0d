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

/** The fields that search reads, and an LLM after it. */
export function SearchedFields(props: PlaybookFieldsProps & { readonly isKnown: boolean }): ReactNode {
  const { draft, onChange, problems, isKnown } = props;
  const wrong = (name: keyof Draft): string | undefined => wrongOf(problems, name);
  return (
    <Card title="What agents find it by">
      <Stack>
        {!isKnown && (
          <TextField
            label="Id"
            value={draft.playbook_id ?? ''}
            wrong={wrong('playbook_id')}
            placeholder="cluster-dns-repair"
            required
            onText={(playbook_id) => onChange({ playbook_id })}
          />
        )}
        <TextField
          label="Name"
          value={draft.name ?? ''}
          wrong={wrong('name')}
          placeholder="Repair name resolution inside the cluster"
          required
          onText={(name) => onChange({ name })}
        />
        <TextArea
          label="Description"
          value={draft.description ?? ''}
          wrong={wrong('description')}
          rows={4}
          required
          help="An LLM chooses by it: when it fits, and what it does."
          onText={(description) => onChange({ description })}
        />
        <PhrasesField
          {...{ ...props, name: 'signals', label: 'Signals' }}
          help="What the incident shows, letter by letter, one a line: reasons, alerts, messages, exit codes."
        />
        <PhrasesField
          {...{ ...props, name: 'aliases', label: 'Also called' }}
          help="Other words for the same, one a line, also of people who do not know the cause."
        />
        <TextArea
          label="Use it when"
          value={draft.when_to_use ?? ''}
          wrong={wrong('when_to_use')}
          onText={(text) => onChange({ when_to_use: text || undefined })}
        />
        <TextArea
          label="Not when"
          value={draft.when_not_to_use ?? ''}
          wrong={wrong('when_not_to_use')}
          onText={(text) => onChange({ when_not_to_use: text || undefined })}
        />
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
