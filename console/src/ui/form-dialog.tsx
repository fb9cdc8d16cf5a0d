import type { UseMutationResult } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import type { Send } from '../lib/act.js';
import { asApiError } from '../lib/api.js';
import { Button } from './controls.js';
import { CopyAct } from './copy-as.js';
import { Dialog } from './dialog.js';
import { Row, Stack } from './layout.js';
import { Problem } from './states.js';

interface FormDialogProps {
  readonly title: string;
  readonly about?: ReactNode;
  /** The button that does it. */
  readonly name: string;
  readonly look?: 'primary' | 'danger';
  /** All that it needs is there; absent: it needs nothing. */
  readonly isReady?: boolean;
  readonly change: Pick<UseMutationResult<unknown, Error, void>, 'mutate' | 'isPending' | 'error'>;
  /** The request that the change sends, to be copied. */
  readonly send: Send;
  /** The same for the command line, where that has it. */
  readonly command?: string | undefined;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** A dialog that asks for input or confirmation before a request, and shows the server's errors. */
export function FormDialog(props: FormDialogProps): ReactNode {
  const { title, about, name, look = 'primary', isReady = true, onClose, children } = props;
  const { change, send, command } = props;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Dialog open onClose={onClose} title={title} about={about}>
      <form onSubmit={submit}>
        <Stack>
          {children}
          {change.error && <Problem problem={asApiError(change.error)} />}
          <Row>
            <Button type="submit" look={look} disabled={!isReady || change.isPending}>
              {name}
            </Button>
            <Button onClick={onClose}>Cancel</Button>
            {isReady && <CopyAct {...{ send, command }} />}
          </Row>
        </Stack>
      </form>
    </Dialog>
  );
}
