import type { ReactNode } from 'react';
import { wrongOf } from '../../lib/api.js';
import { type TextForm, useTyped } from '../../lib/use-typed.js';
import { TextArea, TextField } from '../../ui/controls.js';
import { Card, Stack } from '../../ui/layout.js';
import type { Draft } from './draft.js';
import type { PlaybookFieldsProps } from './playbook-form.js';

/** Facts of this version, and who answers for it. */
export function VersionFields(props: PlaybookFieldsProps & { readonly isKnown: boolean }): ReactNode {
  const { draft, onChange, problems, isKnown } = props;
  return (
    <Card title="This version">
      <Stack>
        <TextField
          label="Version"
          value={draft.version ?? ''}
          wrong={wrongOf(problems, 'version')}
          required
          help="Greater than every version before; what is saved never changes."
          onText={(version) => onChange({ version })}
        />
        {isKnown && (
          <TextArea
            label="What changed"
            value={draft.change_summary ?? ''}
            wrong={wrongOf(problems, 'change_summary')}
            onText={(text) => onChange({ change_summary: text || undefined })}
          />
        )}
        <TextField
          label="Owner"
          value={draft.owner ?? ''}
          wrong={wrongOf(problems, 'owner')}
          onText={(text) => onChange({ owner: text || undefined })}
        />
        <NumberField {...{ ...props, name: 'expected_success_rate', label: 'Expected success, 0 to 1' }} />
        <NumberField {...{ ...props, name: 'expected_duration_seconds', label: 'Takes about, seconds' }} />
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
