import type { FieldProblem } from '../../base/common/errors.js';
import type { PlaybookStatus } from './playbook.types.js';
import type { CreatePlaybookBody } from './playbook-bodies.dto.js';
import { compareVersions } from './playbook.validators.js';

/** Changes of a version's status, and the statuses that allow them. Nothing follows `archived`. */
export const transitions = {
  disable: { from: ['active'], to: 'disabled' },
  enable: { from: ['disabled'], to: 'active' },
  deprecate: { from: ['active'], to: 'deprecated' },
  archive: { from: ['active', 'deprecated'], to: 'archived' },
} as const satisfies Record<string, { from: readonly PlaybookStatus[]; to: PlaybookStatus }>;

type Transition = keyof typeof transitions;

export const allows = (transition: Transition, status: PlaybookStatus): boolean =>
  (transitions[transition].from as readonly PlaybookStatus[]).includes(status);

export interface StatusChange {
  readonly transition: Transition;
  readonly by: string;
  readonly reason: string | undefined;
}

/** A version that a request wants to store. */
export interface ProposedVersion {
  readonly playbook: CreatePlaybookBody;
  readonly contentHash: string;
  /** JSON pointer to it in the request. */
  readonly pointer: string;
}

/** A stored version, as the plan for new ones needs it. */
export interface StoredVersion {
  readonly playbook_id: string;
  readonly version: string;
  readonly is_latest_version: boolean;
  readonly content_hash: string;
}

/** A version as it will be stored. */
export interface PlannedVersion {
  readonly playbook: CreatePlaybookBody;
  readonly contentHash: string;
  readonly isLatest: boolean;
  /** The version before it; null for the first one. */
  readonly previous: string | null;
}

/** The result of planning: the versions to store, and those that are not stored. */
export interface VersionPlan {
  readonly versions: readonly PlannedVersion[];
  /** Versions that exist with the same content. */
  readonly unchanged: readonly CreatePlaybookBody[];
  /** Errors of versions that exist with other content. */
  readonly taken: readonly FieldProblem[];
  /** Errors of versions that are not greater than the latest one. */
  readonly notGreater: readonly FieldProblem[];
}

/**
 * Plans proposed versions. The versions of each playbook may only increase, whatever their order in the request.
 * @param stored all stored versions of the proposed playbooks
 */
export function planVersions(
  proposed: readonly ProposedVersion[],
  stored: readonly StoredVersion[],
): VersionPlan {
  const versions: PlannedVersion[] = [];
  const unchanged: CreatePlaybookBody[] = [];
  const taken: FieldProblem[] = [];
  const notGreater: FieldProblem[] = [];
  const storedById = Map.groupBy(stored, ({ playbook_id }) => playbook_id);
  for (const [id, ofPlaybook] of Map.groupBy(proposed, ({ playbook }) => playbook.playbook_id)) {
    const known = [...(storedById.get(id) ?? [])];
    let latest = known.find(({ is_latest_version }) => is_latest_version)?.version ?? null;
    const planned: PlannedVersion[] = [];
    for (const { playbook, contentHash, pointer } of ascending(ofPlaybook)) {
      const { version } = playbook;
      const versionPointer = `${pointer}/version`;
      const existing = known.find((each) => compareVersions(each.version, version) === 0);
      if (existing?.content_hash === contentHash && existing.version === version) unchanged.push(playbook);
      else if (existing) {
        const detail = `Playbook ${id} has a version ${existing.version} already`;
        taken.push({ pointer: versionPointer, detail });
      } else if (latest !== null && compareVersions(version, latest) < 0) {
        const detail = `version ${version} must be greater than the latest one, ${latest}`;
        notGreater.push({ pointer: versionPointer, detail });
      } else {
        planned.push({ playbook, contentHash, isLatest: false, previous: latest });
        // Without a hash, so that the same version again in this request counts as taken, even with the same content.
        known.push({ playbook_id: id, version, is_latest_version: false, content_hash: '' });
        latest = version;
      }
    }
    versions.push(...planned.map((each, index) => ({ ...each, isLatest: index === planned.length - 1 })));
  }
  return { versions, unchanged, taken, notGreater };
}

const ascending = (proposed: readonly ProposedVersion[]): ProposedVersion[] =>
  [...proposed].sort((a, b) => compareVersions(a.playbook.version, b.playbook.version));
