import type { ReactNode } from 'react';
import { TextField } from './controls.js';

interface ReasonFieldProps {
  readonly value: string;
  readonly onText: (text: string) => void;
  /** The place where the reason can be read later. */
  readonly help: string;
}

/** Acts that take something away, or hold something up, are not done without a reason. */
export const ReasonField = ({ value, onText, help }: ReasonFieldProps): ReactNode => (
  <TextField label="Reason" value={value} onText={onText} required maxLength={500} help={help} />
);

export const inAudit = 'It stands in the audit, with your name.';
