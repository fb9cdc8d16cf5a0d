import type { ReactNode } from 'react';
import { wrongOf } from '../../lib/api.js';
import { type TextForm, useTyped } from '../../lib/use-typed.js';
import { TextField } from '../../ui/controls.js';
import { Card, Stack } from '../../ui/layout.js';
import type { Draft } from './draft.js';
import { DraftField, type PlaybookFieldsProps } from './playbook-form.js';

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
          help="Greater than every version before; what is saved never changes."
        />
        {isKnown && <DraftField {...props} name="change_summary" label="What changed" rows={2} />}
        <DraftField {...props} name="owner" label="Owner" />
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
