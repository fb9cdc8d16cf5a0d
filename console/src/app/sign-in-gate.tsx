import { createContext, lazy, type ReactNode, Suspense, useContext, useState } from 'react';
import { type Scope, usePermission } from '../lib/session.js';

const SignInDialog = lazy(() =>
  import('./sign-in-dialog.js').then(({ SignInDialog: it }) => ({ default: it })),
);

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
  const [pending, setPending] = useState<{ readonly then: () => void }>();
  const done = (): void => {
    pending?.then();
    setPending(undefined);
  };
  return (
    <Gate value={(then) => setPending({ then })}>
      {children}
      <Suspense>{pending && <SignInDialog onDone={done} onClose={() => setPending(undefined)} />}</Suspense>
    </Gate>
  );
}
