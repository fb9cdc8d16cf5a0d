import type { ReactNode } from 'react';
import { ActButton } from '../../app/act-button.js';
import { type ExecutionView, markSemanticFailure, unmarkSemanticFailure } from '../../lib/api.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { useDone } from '../../ui/toasts.js';

/** Marks an execution whose answer looked right and was not, or takes the mark back. */
export function MarkAct({ execution }: { readonly execution: ExecutionView }): ReactNode {
  const { metricId: id, toolName, semanticFailure } = execution;
  const isMarked = typeof semanticFailure === 'string';
  const done = useDone('executions', 'health', 'trace');
  return (
    <ActButton small scope="tools:admin" name={isMarked ? 'Remove mark' : 'Mark as semantic failure'}>
      {(onClose) => (
        <FormDialog<unknown>
          title={isMarked ? 'Remove the mark?' : 'Mark as semantic failure?'}
          about={`The execution of ${toolName} keeps its status; the tool’s health counts semantic failures apart.`}
          name={isMarked ? 'Remove mark' : 'Mark'}
          reason={!isMarked && 'Required. The execution’s record shows it.'}
          send={(options, reason) =>
            isMarked
              ? unmarkSemanticFailure({ path: { id }, ...options })
              : markSemanticFailure({ path: { id }, body: { reason }, ...options })
          }
          onDone={() => done(isMarked ? 'Mark removed' : 'Marked as semantic failure', toolName)}
          onClose={onClose}
        />
      )}
    </ActButton>
  );
}
