/** Why calls of a tool are refused. */
export interface Unavailable {
  readonly state: 'held' | 'disabled' | 'error';
  readonly why: string;
}

export const unavailableNames = {
  held: 'held',
  disabled: 'disabled',
  error: 'cannot start',
} as const satisfies Readonly<Record<Unavailable['state'], string>>;
