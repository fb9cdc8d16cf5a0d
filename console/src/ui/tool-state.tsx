import type { ReactNode } from 'react';
import type { CircuitView, CustomToolView } from '../lib/api.js';
import { Badge } from './controls.js';

export const statusNames = {
  active: 'active',
  inactive: 'disabled',
  error: 'cannot start',
} as const satisfies Readonly<Record<CustomToolView['status'], string>>;

interface ToolStateProps {
  readonly status?: CustomToolView['status'] | undefined;
  readonly circuit?: CircuitView['state'] | undefined;
}

/** Why calls of a tool are refused: its status, and its circuit. That both let calls pass goes without saying. */
export const ToolState = ({ status = 'active', circuit = 'closed' }: ToolStateProps): ReactNode => (
  <>
    {status !== 'active' && <Badge state={statusNames[status]} tone={status === 'error' ? 'bad' : 'none'} />}{' '}
    {circuit !== 'closed' && (
      <Badge state={`circuit ${circuit}`} tone={circuit === 'open' ? 'bad' : 'warn'} />
    )}
  </>
);
