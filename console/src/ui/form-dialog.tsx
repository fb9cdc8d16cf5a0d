import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Sending } from '../lib/act.js';
import { ask, asApiError } from '../lib/api.js';
import { Button, TextField } from './controls.js';
import { CopyAct } from './copy-as.js';
import { Dialog } from './dialog.js';
import { Row, Stack } from './layout.js';
import { Problem } from './states.js';

interface FormDialogProps<T> {
  readonly title: string;
  readonly about?: ReactNode;
  /** Label of the button that sends the request. */
  readonly name: string;
  readonly look?: 'primary' | 'danger';
  /** Whether the form is complete; absent: it needs no input. */
  readonly isReady?: boolean;
  /** Text that tells where the reason is shown later. Absent: the dialog asks no reason. */
  readonly reason?: string | false;
  /** The request, which can also be copied. */
  readonly send: (options: Sending, reason: string) => Parameters<typeof ask<T>>[0];
  /** false: the dialog offers no copy. */
  readonly copies?: false;
  /** The same for the command line, where that has it. */
  readonly command?: string | undefined;
  readonly onDone: (answer: T) => unknown;
  readonly onFailed?: () => unknown;
  /** Another screen or dialog follows; absent: the dialog closes. */
  readonly stays?: boolean;
  readonly onClose: () => void;
  /** Fields, which show the server's errors. */
  readonly children?: ReactNode | ((error: Error | null) => ReactNode);
}

export const inAudit = 'Required. The audit shows it with your name.';
export const inHistory = 'Required. The history shows it with your name.';

/** A dialog that asks for input or confirmation before a request, and shows the server's errors. */
export function FormDialog<T>(props: FormDialogProps<T>): ReactNode {
  const { title, about, name, look = 'primary', reason: reasonHelp, command, onClose, children } = props;
  const [reason, setReason] = useState('');
  const send = (options: Sending = {}) => props.send(options, reason.trim());
  const change = useMutation({
    mutationFn: () => ask(send()),
    onSuccess: async (answer) => {
      await props.onDone(answer);
      if (props.stays !== true) onClose();
    },
    onError: () => props.onFailed?.(),
    // A secret in the answer is kept only in the dialog.
    gcTime: 0,
  });
  const needsReason = reasonHelp !== undefined && reasonHelp !== false;
  const isReady = props.isReady !== false && (!needsReason || reason.trim() !== '');
  return (
    <Dialog open onClose={onClose} title={title} about={about}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <Stack>
          {typeof children === 'function' ? children(change.error) : children}
          {needsReason && (
            <TextField
              label="Reason"
              value={reason}
              onText={setReason}
              required
              maxLength={500}
              help={reasonHelp}
            />
          )}
          {change.error && <Problem problem={asApiError(change.error)} />}
          <Row>
            <Button type="submit" look={look} disabled={!isReady || change.isPending}>
              {name}
            </Button>
            <Button onClick={onClose}>Cancel</Button>
            {isReady && props.copies !== false && <CopyAct {...{ send, command }} />}
          </Row>
        </Stack>
      </form>
    </Dialog>
  );
}
