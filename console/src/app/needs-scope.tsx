import type { ReactNode } from 'react';
import type { Scope } from '../lib/scopes.js';
import { usePermission } from '../lib/session.js';
import { Button } from '../ui/controls.js';
import { Empty } from '../ui/states.js';
import { useAct } from './sign-in-gate.js';

interface NeedsScopeProps {
  readonly scope: Scope;
  /** Title and explanation for callers without the scope. */
  readonly title: string;
  readonly why: ReactNode;
  readonly children: ReactNode;
}

/** A screen that requires a scope. Anonymous callers can sign in. */
export function NeedsScope({ scope, title, why, children }: NeedsScopeProps): ReactNode {
  const permission = usePermission(scope);
  const act = useAct(scope);
  if (permission === 'yes') return children;
  return (
    <Empty title={title}>
      <p>{why}</p>
      {act && (
        <Button look="primary" onClick={() => act(() => undefined)}>
          Sign in
        </Button>
      )}
    </Empty>
  );
}
