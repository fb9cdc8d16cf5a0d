import { createContext, type ReactNode, useContext, useState } from 'react';
import { type Scope, usePermission } from '../lib/session.js';
import { Dialog } from '../ui/dialog.js';
import { SignInForm } from './sign-in-form.js';

type Pending = (() => void) | undefined;
const Gate = createContext<(then: () => void) => void>(() => undefined);

/**
 * The click of a button that needs a scope: the act itself, or for a caller who has shown no key the question for one, and
 * then the act.
 * @returns undefined for a caller whose key does not allow it: it is not offered
 */
export function useAct(scope: Scope): ((act: () => void) => void) | undefined {
  const permission = usePermission(scope);
  const gate = useContext(Gate);
  if (permission === 'no') return undefined;
  return permission === 'ask' ? gate : (act) => act();
}

export function SignInGate({ children }: { readonly children: ReactNode }): ReactNode {
  const [pending, setPending] = useState<{ then: Pending }>();
  const done = (): void => {
    pending?.then?.();
    setPending(undefined);
  };
  return (
    <Gate value={(then) => setPending({ then })}>
      {children}
      <Dialog
        open={pending !== undefined}
        onClose={() => setPending(undefined)}
        title="This needs a key"
        about="Reading and calling tools is open to everybody on this machine; this changes something."
      >
        <SignInForm onDone={done} />
      </Dialog>
    </Gate>
  );
}
