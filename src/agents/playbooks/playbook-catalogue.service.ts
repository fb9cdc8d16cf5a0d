import { Injectable, Logger } from '@nestjs/common';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { type FieldProblem, Problem } from '../../base/common/errors.js';
import { jsonDifferences } from '../../base/common/json-differences.js';
import { keyIn, type Page, pageFrom } from '../../web/rest/page.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import type { CreatePlaybookBody } from './playbook-bodies.dto.js';
import {
  allows,
  planVersions,
  type StatusChange,
  transitions,
  type VersionPlan,
} from './playbook-versions.js';
import type * as views from './playbook-views.dto.js';
import { compareVersions, isPlaybookId } from './playbook.validators.js';
import {
  type Outcome,
  PlaybooksRepository,
  type StatusRow,
  type VersionKey,
} from './playbooks.repository.js';

/** The value itself if it has members to compare, which objects and lists have. */
const membersOf = (value: unknown): object | undefined =>
  typeof value === 'object' && value !== null ? value : undefined;

/**
 * All differences of two JSON values, as deep as possible. List members are compared by position. The order of keys is
 * ignored, and undefined counts as absent.
 */
export const jsonDiff = (from: unknown, to: unknown): views.JsonChangeView[] =>
  jsonDifferences(from, to, membersOf).map(({ path: pointer, before, after }) => {
    if (before === undefined) return { pointer, change: 'added', to: after };
    if (after === undefined) return { pointer, change: 'removed', from: before };
    return { pointer, change: 'changed', from: before, to: after };
  });

/** A playbook in a request, with its place for errors. */
export interface ImportItem {
  readonly playbook: CreatePlaybookBody;
  /** JSON pointer to the playbook; empty if the request has only this one. */
  readonly pointer: string;
}

/** Versioned playbooks. Versions are immutable and increase; search finds active ones only. */
@Injectable()
export class PlaybookCatalogueService {
  private readonly logger = new Logger(PlaybookCatalogueService.name);
  /** Emits after each local change of searchable playbooks. The database notifies of changes by other replicas. */
  readonly changed = new TypedEvents<void>((error) => this.logger.error(error));

  constructor(private readonly repository: PlaybooksRepository) {}

  /**
   * Stores a new version, which becomes the latest.
   * @param createdBy the user who stores it, if known
   * @throws Problem `conflict` if the version exists, `invalid_request` if it is not greater than the latest
   */
  async create(
    playbook: CreatePlaybookBody,
    createdBy: string | null = null,
  ): Promise<views.PlaybookCreatedView> {
    const { created } = await this.store([{ playbook, pointer: '' }], createdBy, (plan) => {
      const duplicates = plan.unchanged.map(({ playbook_id: id, version }) => ({
        pointer: '/version',
        detail: `Playbook ${id} has a version ${version} already`,
      }));
      refuseVersions([...plan.taken, ...duplicates], plan.notGreater);
    });
    const [row] = created;
    if (!row) throw new Error('The version was not stored');
    return row;
  }

  /**
   * Stores several versions, all or none. Versions that exist with the same content are skipped.
   * @throws Problem like `create`, with an entry for each version that cannot be stored
   */
  async import(
    items: readonly ImportItem[],
    createdBy: string | null = null,
  ): Promise<views.PlaybookImportView> {
    const { created, plan } = await this.store(items, createdBy, ({ taken, notGreater }) =>
      refuseVersions(taken, notGreater),
    );
    const unchanged = plan.unchanged.map(({ playbook_id, version }) => ({ playbook_id, version }));
    return { imported: created, unchanged };
  }

  /** A page of latest versions, by id. */
  async list(limit: number, cursor: string | undefined): Promise<Page<views.ListedPlaybookView>> {
    const after = keyIn(cursor, (id) => (isPlaybookId(id) ? id : undefined));
    const rows = await this.repository.listLatest(after, limit + 1);
    return pageFrom(rows, ({ playbook_id }) => playbook_id, limit);
  }

  /** All versions of a playbook, newest first. @throws Problem `not_found` if there are none */
  async versions(id: string, includeDisabled: boolean): Promise<views.PlaybookVersionsView> {
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

  /** One version. @throws Problem `not_found` */
  async get({ id, version }: VersionKey): Promise<views.PlaybookRow> {
    const row = await this.repository.find(id, version);
    if (!row) throw versionNotFound({ id, version });
    return row;
  }

  /** Compares two versions. @throws Problem `not_found` */
  async diff(id: string, from: string, to: string): Promise<views.PlaybookDiffView> {
    const [before, after] = await Promise.all([
      this.get({ id, version: from }),
      this.get({ id, version: to }),
    ]);
    return { playbook_id: id, from, to, changes: jsonDiff(authoredFields(before), authoredFields(after)) };
  }

  /** Changes a version's status. @throws Problem `not_found`, or `conflict` if the present status does not allow it */
  async setStatus(key: VersionKey, change: StatusChange): Promise<StatusRow> {
    const row = await this.repository.setStatus(key, change, (status) => {
      if (status === undefined) throw versionNotFound(key);
      if (allows(change.transition, status)) return;
      const { to } = transitions[change.transition];
      const version = `Version ${key.version} of playbook ${key.id}`;
      throw new Problem('conflict', `${version} is ${status}: it cannot become ${to}`);
    });
    this.changed.emit();
    return row;
  }

  /** Counts an outcome once. @throws Problem `not_found`, or `conflict` if the execution had the other outcome */
  async recordOutcome(key: VersionKey, outcome: Outcome): Promise<views.PlaybookOutcomeView> {
    const statistics = await this.repository.addOutcome(key, outcome);
    if (statistics) return { ...statistics, counted: true };
    const row = await this.get(key);
    const { executionId, success } = outcome;
    const before =
      executionId === undefined ? undefined : await this.repository.findOutcome(key, executionId);
    if (before && before.success !== success) {
      const earlier = before.success ? 'a success' : 'a failure';
      throw new Problem('conflict', `Execution ${executionId} was reported as ${earlier} before`);
    }
    const { playbook_id, version, total_executions, successful_executions, actual_success_rate } = row;
    const unchanged = { total_executions, successful_executions, actual_success_rate };
    return { playbook_id, version, ...unchanged, counted: false };
  }

  /** Plans and stores versions. @param admit throws if the plan has faults */
  private async store(
    items: readonly ImportItem[],
    createdBy: string | null,
    admit: (plan: VersionPlan) => void,
  ): Promise<{ readonly created: views.PlaybookCreatedView[]; readonly plan: VersionPlan }> {
    const proposed = items.map((item) => ({ ...item, contentHash: contentHash(item.playbook) }));
    const ids = items.map(({ playbook }) => playbook.playbook_id);
    const stored = await this.repository.store(ids, createdBy, (known) => {
      const plan = planVersions(proposed, known);
      admit(plan);
      return plan;
    });
    if (stored.created.length > 0) this.changed.emit();
    return stored;
  }
}

/** Hash of all of the author's fields, the description included. */
const contentHash = (playbook: CreatePlaybookBody): string => sha256(canonicalJson(playbook));

/**
 * Refuses versions that cannot be stored.
 * @throws Problem with all entries, if there are any; `conflict` if the only fault is that versions exist
 */
function refuseVersions(taken: readonly FieldProblem[], notGreater: readonly FieldProblem[]): void {
  const errors = [...notGreater, ...taken];
  if (errors.length === 0) return;
  const detail = errors.map((each) => each.detail).join('; ');
  throw new Problem(notGreater.length > 0 ? 'invalid_request' : 'conflict', detail, { errors });
}

const versionNotFound = ({ id, version }: VersionKey): Problem =>
  new Problem('not_found', `There is no version ${version} of a playbook ${id}`);

/** The author's fields of a version, for comparisons. Empty ones are absent. */
const authoredFields = (row: views.PlaybookRow): Record<string, unknown> => ({
  name: row.name,
  description: row.description,
  owner: row.owner ?? undefined,
  maintainer: row.maintainer ?? undefined,
  labels: row.labels,
  signals: row.signals,
  aliases: row.aliases,
  when_to_use: row.when_to_use ?? undefined,
  when_not_to_use: row.when_not_to_use ?? undefined,
  expected_success_rate: row.expected_success_rate ?? undefined,
  expected_duration_seconds: row.expected_duration_seconds ?? undefined,
  content: row.content,
});
