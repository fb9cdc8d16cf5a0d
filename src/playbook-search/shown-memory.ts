import type { PlaybookHit } from './playbook.types.js';

/** Remembers what an investigation was shown, so that a selection can be checked against it later. */
export interface ShownMemory {
  /** Called for every answer, a cached one included: it neither fails nor waits. */
  remember(investigationId: string, playbooks: readonly Pick<PlaybookHit, 'playbook_id' | 'version'>[]): void;
}

export const SHOWN_MEMORY = Symbol('ShownMemory');
