/** `missing`: a server does not work as it should; `note`: it works, and could do more. */
export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'note' | 'missing';
  readonly found: string;
  /** How to mend it. */
  readonly mend?: string;
}
