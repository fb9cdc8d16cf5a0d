import { Injectable } from '@nestjs/common';
import { canonicalJson, sha256 } from '../common/canonical-json.js';
import { Problem } from '../common/errors.js';
import { decodeCursor, encodeCursor, type Page } from '../common/page.js';
import type { NewPlaybook, PlaybookAnswer, PlaybookQuery } from './playbook.types.js';
import { isPlaybookId } from './playbook.validators.js';
import { PlaybookIndex } from './playbook-index.js';
import {
  type CreatedRow,
  type PlaybookRow,
  PlaybooksRepository,
  type PlaybookSummary,
  type StatusRow,
  type StoredVersion,
  type VersionRow,
} from './playbooks.repository.js';
import { compareVersions } from './semver.js';

/** The answer of DD-STORAGE-008's version list. */
export interface PlaybookVersions {
  readonly playbook_id: string;
  /** Newest first. */
  readonly versions: readonly Omit<VersionRow, 'deprecation_notice'>[];
  readonly total_versions: number;
}

/** Versioned playbooks: versions are immutable and only grow; what is disabled is not found. */
@Injectable()
export class PlaybookCatalogueService {
  constructor(
    private readonly repository: PlaybooksRepository,
    private readonly index: PlaybookIndex,
  ) {}

  /**
   * Stores a new version, which becomes the latest.
   * @param createdBy who stores it, where that is known
   * @throws Problem `conflict` when the version exists, `invalid_request` when it is not greater than the latest
   */
  async create(playbook: NewPlaybook, createdBy: string | null = null): Promise<CreatedRow> {
    const origin = { contentHash: contentHash(playbook), createdBy };
    const created = await this.repository.create(playbook, origin, (stored) => admit(playbook, stored));
    this.index.invalidate();
    return created;
  }

  /** Another one whenever a search may find something else. */
  get revision(): string {
    return this.index.revision;
  }

  search(query: PlaybookQuery): Promise<PlaybookAnswer> {
    return this.index.search(query);
  }

  /** Latest versions by id. */
  async list(limit: number, cursor: string | undefined): Promise<Page<PlaybookSummary>> {
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    if (after !== undefined && !isPlaybookId(after)) {
      throw invalid('/cursor', 'cursor must be the nextCursor of an earlier answer');
    }
    const rows = await this.repository.listLatest(after, limit + 1);
    const data = rows.slice(0, limit);
    const last = data.at(-1);
    return { data, nextCursor: last && rows.length > limit ? encodeCursor(last.playbook_id) : null };
  }

  /** @throws Problem `not_found` when the id has no version at all */
  async versions(id: string, includeDisabled: boolean): Promise<PlaybookVersions> {
    const rows = await this.repository.versions(id);
    if (rows.length === 0) throw new Problem('not_found', `There is no playbook ${id}`);
    const versions = rows
      .filter(({ status }) => includeDisabled || status !== 'disabled')
      .sort((a, b) => compareVersions(b.version, a.version))
      .map(({ deprecation_notice, ...version }) =>
        deprecation_notice ? { ...version, deprecation_notice } : version,
      );
    return { playbook_id: id, versions, total_versions: versions.length };
  }

  /** @throws Problem `not_found` */
  async get(id: string, version: string): Promise<PlaybookRow> {
    const row = await this.repository.find(id, version);
    if (!row) throw new Problem('not_found', `There is no version ${version} of a playbook ${id}`);
    return row;
  }

  /** @throws Problem `not_found`, or `conflict` when the version is not active */
  async disable(id: string, version: string, by: string, reason: string): Promise<StatusRow> {
    return this.changed(id, version, 'disabled', await this.repository.disable(id, version, by, reason));
  }

  /** @throws Problem `not_found`, or `conflict` when the version is not disabled */
  async enable(id: string, version: string, by: string): Promise<StatusRow> {
    return this.changed(id, version, 'enabled', await this.repository.enable(id, version, by));
  }

  private async changed(
    id: string,
    version: string,
    wanted: string,
    row: StatusRow | undefined,
  ): Promise<StatusRow> {
    if (!row) {
      const { status } = await this.get(id, version);
      throw new Problem(
        'conflict',
        `Version ${version} of playbook ${id} is ${status}: it cannot be ${wanted}`,
      );
    }
    this.index.invalidate();
    return row;
  }
}

/** Everything that the author wrote, so that a changed description is a change as well. */
export const contentHash = (playbook: NewPlaybook): string => sha256(canonicalJson(playbook));

/** @returns the version that is the latest until now */
function admit({ playbook_id: id, version }: NewPlaybook, stored: readonly StoredVersion[]): string | null {
  const same = stored.find((each) => compareVersions(each.version, version) === 0);
  if (same) throw new Problem('conflict', `Playbook ${id} has a version ${same.version} already`);
  const latest = stored.find((each) => each.is_latest_version)?.version;
  if (latest !== undefined && compareVersions(version, latest) < 0) {
    throw invalid('/version', `version ${version} must be greater than the latest one, ${latest}`);
  }
  return latest ?? null;
}

function invalid(pointer: string, detail: string): Problem {
  return new Problem('invalid_request', detail, { errors: [{ pointer, detail }] });
}
