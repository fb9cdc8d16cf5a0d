import { type ReactNode, useState } from 'react';
import { ActButton } from '../../app/act-button.js';
import { type PlaybookView, recordPlaybookOutcome } from '../../lib/api.js';
import { counted, duration, number, percent } from '../../lib/format.js';
import { Checkbox, TextField } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Card, Facts, type Pairs } from '../../ui/layout.js';
import { useDone } from '../../ui/toasts.js';

/** Outcomes of using this version, beside what its author expects. */
export const Outcomes = ({ playbook }: { readonly playbook: PlaybookView }): ReactNode => (
  <Card
    title="Outcomes"
    actions={
      <ActButton small scope="tools:call" name="Record an outcome">
        {(onClose) => <RecordDialog playbook={playbook} onClose={onClose} />}
      </ActButton>
    }
  >
    <Facts facts={figuresOf(playbook)} />
  </Card>
);

function RecordDialog({
  playbook: { playbook_id: id, version },
  onClose,
}: {
  readonly playbook: PlaybookView;
  readonly onClose: () => void;
}): ReactNode {
  const [success, setSuccess] = useState(true);
  const [execution, setExecution] = useState('');
  const done = useDone('playbooks');
  const body = { success, ...(execution.trim() !== '' && { execution_id: execution.trim() }) };
  return (
    <FormDialog
      title="What came of it?"
      about={`Of using ${id} ${version}.`}
      name="Record"
      send={(options) => recordPlaybookOutcome({ path: { id, version }, body, ...options })}
      onDone={({ counted: isNew }) => done(isNew ? 'Recorded' : 'It had been recorded before', id)}
      onClose={onClose}
    >
      <Checkbox label="It remedied the incident" checked={success} onChange={setSuccess} />
      <TextField
        label="Execution"
        value={execution}
        onText={setExecution}
        maxLength={256}
        help="An id of your choice, or none: an outcome that is reported twice with it counts once."
      />
    </FormDialog>
  );
}

const enough = 10;

function figuresOf(playbook: PlaybookView): Pairs {
  const { actual_success_rate: rate, total_executions: total, successful_executions: good } = playbook;
  const { expected_success_rate: expected, expected_duration_seconds: seconds } = playbook;
  const caution = total < enough ? `; under ${enough} a rate says little` : '';
  return [
    [
      'Remedied',
      rate === null
        ? 'no outcome was recorded yet'
        : `${percent(rate)}: ${number(good)} of ${counted(total, 'incident')}${caution}`,
    ],
    ['Expected', expected !== null && percent(expected)],
    ['Takes about', seconds !== null && duration(seconds * 1_000)],
  ];
}
