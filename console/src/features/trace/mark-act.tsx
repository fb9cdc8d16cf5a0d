import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Sending } from '../../lib/act.js';
import { ask, type ExecutionView, markSemanticFailure, unmarkSemanticFailure } from '../../lib/api.js';
import { usePermission } from '../../lib/session.js';
import { Button } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { ReasonField } from '../../ui/reason-field.js';
import { useDone } from '../../ui/toasts.js';

interface MarkActProps {
  readonly execution: ExecutionView;
}

/** Marks an execution whose answer looked right and was not, or takes the mark back. */
export function MarkAct({ execution }: MarkActProps): ReactNode {
  const may = usePermission('tools:admin');
  const [isOpen, setOpen] = useState(false);
  if (may === 'no') return null;
  const isMarked = typeof execution.semanticFailure === 'string';
  return (
    <>
      <Button small onClick={() => setOpen(true)}>
        {isMarked ? 'Remove mark' : 'Mark as semantic failure'}
      </Button>
      {isOpen && <MarkDialog execution={execution} isMarked={isMarked} onClose={() => setOpen(false)} />}
    </>
  );
}

interface MarkDialogProps extends MarkActProps {
  readonly isMarked: boolean;
  readonly onClose: () => void;
}

function MarkDialog({ execution, isMarked, onClose }: MarkDialogProps): ReactNode {
  const { metricId: id, toolName } = execution;
  const [reason, setReason] = useState('');
  const done = useDone('executions', 'health');
  const send = (options?: Sending) =>
    isMarked
      ? unmarkSemanticFailure({ path: { id }, ...options })
      : markSemanticFailure({ path: { id }, body: { reason: reason.trim() }, ...options });
  const change = useMutation({
    mutationFn: () => ask<unknown>(send()),
    onSuccess: () => {
      done(isMarked ? 'Mark removed' : 'Marked as semantic failure', toolName);
      onClose();
    },
  });
  return (
    <FormDialog
      title={isMarked ? 'Remove the mark?' : 'Mark as semantic failure?'}
      about={`The execution of ${toolName} keeps its status; the tool’s health counts semantic failures apart.`}
      name={isMarked ? 'Remove mark' : 'Mark'}
      isReady={isMarked || reason.trim() !== ''}
      {...{ change, send, onClose }}
    >
      {!isMarked && (
        <ReasonField value={reason} onText={setReason} help="It stands in the execution’s record." />
      )}
    </FormDialog>
  );
}
