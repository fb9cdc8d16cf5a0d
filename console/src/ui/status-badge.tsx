import type { ReactNode } from 'react';
import type { CustomToolView } from '../lib/api.js';
import { Badge } from './controls.js';

export const statusNames = {
  active: 'active',
  inactive: 'disabled',
  error: 'cannot start',
} as const satisfies Readonly<Record<CustomToolView['status'], string>>;

/** The status of a tool whose calls are refused; that others are active goes without saying. */
export const StatusBadge = ({ status }: Pick<CustomToolView, 'status'>): ReactNode =>
  status !== 'active' && <Badge state={statusNames[status]} tone={status === 'error' ? 'bad' : 'none'} />;
