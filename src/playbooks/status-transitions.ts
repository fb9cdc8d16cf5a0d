import type { PlaybookStatus } from './playbook.types.js';

/** What can be done to a version, and which statuses allow it. Archived is the end. */
export const transitions = {
  disable: { from: ['active'], to: 'disabled' },
  enable: { from: ['disabled'], to: 'active' },
  deprecate: { from: ['active'], to: 'deprecated' },
  archive: { from: ['active', 'deprecated'], to: 'archived' },
} as const satisfies Record<string, { from: readonly PlaybookStatus[]; to: PlaybookStatus }>;

type Transition = keyof typeof transitions;

export const allows = (transition: Transition, status: PlaybookStatus): boolean =>
  (transitions[transition].from as readonly PlaybookStatus[]).includes(status);

/** A status change that is asked for. */
export interface StatusChange {
  readonly transition: Transition;
  readonly by: string;
  readonly reason: string | undefined;
}
