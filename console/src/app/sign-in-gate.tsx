import { useQueryClient } from '@tanstack/react-query';
import {
  createContext,
  lazy,
  type ReactNode,
  Suspense,
  useCallback,
  useContext,
  useEffect,
  useEffectEvent,
  useState,
} from 'react';
import { ApiError } from '../lib/api.js';
import type { Scope } from '../lib/scopes.js';
import { sessionQuery, usePermission } from '../lib/session.js';

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

/** An action that waits for a key. */
interface Pending {
  readonly then: () => void;
  /** The session ended before the act: it was sent and refused. */
  readonly hasEnded: boolean;
}

export function SignInGate({ children }: { readonly children: ReactNode }): ReactNode {
  const [pending, setPending] = useState<Pending>();
  const client = useQueryClient();
  // The same function each time: the dialog must not redraw, and so reset, the form that it is opened for.
  const gate = useCallback((then: () => void) => setPending({ then, hasEnded: false }), []);
  useRefusedActs((repeat) => setPending({ then: repeat, hasEnded: true }));
  const done = (): void => {
    pending?.then();
    setPending(undefined);
  };
  const close = (): void => {
    setPending(undefined);
    if (pending?.hasEnded === true) void client.invalidateQueries(sessionQuery);
  };
  return (
    <Gate value={gate}>
      {children}
      <Suspense>
        {pending && <SignInDialog hasEnded={pending.hasEnded} onDone={done} onClose={close} />}
      </Suspense>
    </Gate>
  );
}

/** Reports each act that was refused because its session has ended, with what sends it again. */
function useRefusedActs(report: (repeat: () => void) => void): void {
  const acts = useQueryClient().getMutationCache();
  const onRefused = useEffectEvent(report);
  useEffect(
    () =>
      acts.subscribe((event) => {
        if (event.type !== 'updated' || event.action.type !== 'error') return;
        const { mutation, action } = event;
        if (!(action.error instanceof ApiError && action.error.status === 401)) return;
        onRefused(() => void mutation.execute(mutation.state.variables).catch(() => undefined));
      }),
    [acts],
  );
}
