import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { Sending } from '../../lib/act.js';
import { ask, type PlaybookView, recordPlaybookOutcome } from '../../lib/api.js';
import { counted, duration, number, percent } from '../../lib/format.js';
import { Button, Checkbox, TextField } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Card, Facts, type Pairs } from '../../ui/layout.js';
import { useDone } from '../../ui/toasts.js';

/** Outcomes of using this version, beside what its author expects. */
export function Outcomes({ playbook }: { readonly playbook: PlaybookView }): ReactNode {
  const [isRecording, setRecording] = useState(false);
  const permitted = useAct('tools:call');
  return (
    <Card
      title="Outcomes"
      actions={
        permitted && (
          <Button small onClick={() => permitted(() => setRecording(true))}>
            Record an outcome
          </Button>
        )
      }
    >
      <Facts facts={figuresOf(playbook)} />
      {isRecording && <RecordDialog playbook={playbook} onClose={() => setRecording(false)} />}
    </Card>
  );
}

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
  const send = (options: Sending = {}) => {
    const body = { success, ...(execution.trim() !== '' && { execution_id: execution.trim() }) };
    return recordPlaybookOutcome({ path: { id, version }, body, ...options });
  };
  const change = useMutation({
    mutationFn: () => ask(send()),
    onSuccess: ({ counted: isNew }) => {
      done(isNew ? 'Recorded' : 'It had been recorded before', id);
      onClose();
    },
  });
  return (
    <FormDialog
      title="What came of it?"
      about={`Of using ${id} ${version}.`}
      name="Record"
      {...{ change, send }}
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
