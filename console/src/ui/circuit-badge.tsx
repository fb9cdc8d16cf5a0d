import type { ReactNode } from 'react';
import type { CircuitView } from '../lib/api.js';
import { Badge } from './controls.js';

/** The circuit's state where something else has a badge, too; a closed one goes without saying. */
export const CircuitBadge = ({ state }: Pick<CircuitView, 'state'>): ReactNode =>
  state !== 'closed' && <Badge state={`circuit ${state}`} tone={state === 'open' ? 'bad' : 'warn'} />;
