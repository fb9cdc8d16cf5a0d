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
  /** The button that does it. */
  readonly name: string;
  readonly look?: 'primary' | 'danger';
  /** All that it needs is there; absent: it needs nothing. */
  readonly isReady?: boolean;
  /** The place where the reason can be read later; absent: it needs none. */
  readonly reason?: string | false;
  /** The request, which can be copied, too. */
  readonly send: (options: Sending, reason: string) => Parameters<typeof ask<T>>[0];
  /** false: it is copied elsewhere. */
  readonly copies?: false;
  /** The same for the command line, where that has it. */
  readonly command?: string | undefined;
  readonly onDone: (answer: T) => unknown;
  readonly onFailed?: () => unknown;
  /** Another screen or dialog takes its place when it is done; else it closes. */
  readonly stays?: boolean;
  readonly onClose: () => void;
  /** Fields, some of which show what the server objected to. */
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
    // A secret in the answer stays nowhere but in the dialog.
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
