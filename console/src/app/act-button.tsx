import { type ReactNode, useState } from 'react';
import type { Scope } from '../lib/scopes.js';
import { Button } from '../ui/controls.js';
import { useAct } from './sign-in-gate.js';

interface ActButtonProps {
  readonly scope: Scope;
  readonly name: string;
  readonly look?: 'primary' | 'danger';
  readonly small?: boolean;
  /** The dialog that asks for confirmation. */
  readonly children: (onClose: () => void) => ReactNode;
}

/** A button that opens a dialog, for callers whose key may allow its action. */
export function ActButton({ scope, name, children, ...looks }: ActButtonProps): ReactNode {
  const permitted = useAct(scope);
  const [isOpen, setOpen] = useState(false);
  if (!permitted) return null;
  return (
    <>
      <Button {...looks} onClick={() => permitted(() => setOpen(true))}>
        {name}
      </Button>
      {isOpen && children(() => setOpen(false))}
    </>
  );
}
