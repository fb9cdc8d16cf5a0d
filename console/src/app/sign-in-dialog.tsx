import type { ReactNode } from 'react';
import { Dialog } from '../ui/dialog.js';
import { SignInForm } from './sign-in-form.js';

interface SignInDialogProps {
  readonly hasEnded: boolean;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks for a key before an action that needs one. */
export const SignInDialog = ({ hasEnded, onDone, onClose }: SignInDialogProps): ReactNode => (
  <Dialog
    open
    onClose={onClose}
    title={hasEnded ? 'Your session has ended' : 'This needs a key'}
    about={
      hasEnded
        ? 'Sign in again; the request is then repeated.'
        : 'On this machine, everybody may read and call tools, but a change requires a key.'
    }
  >
    <SignInForm onDone={onDone} onCancel={onClose} />
  </Dialog>
);
