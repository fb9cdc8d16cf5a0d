import { Injectable } from '@nestjs/common';
import type { PlaybookRow, StatusChangeRow, StatusRow } from './playbook.rows.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import type { VersionKey } from './playbook-changes.repository.js';
import type { ArchivePlaybookBody, DeprecatePlaybookBody, DisablePlaybookBody, EnablePlaybookBody } from './playbook-bodies.shapes.js';
import { PlaybooksRepository } from './playbooks.repository.js';
import { ShownPlaybooks } from './shown/shown-playbooks.js';
import type { ShownPlaybooksView, ShownToInvestigationView } from './playbook-views.shapes.js';

export interface ShownVersion extends PlaybookRow {
  readonly status_history: readonly StatusChangeRow[];
  /** Only where an investigation was named. */
  readonly shown_to_investigation?: ShownToInvestigationView;
}

type PlaybookStatusAnswer = Pick<
  StatusRow,
  'playbook_id' | 'version' | 'status' | 'disabled_at' | 'disabled_by' | 'disabled_reason'
>;

/** One version over REST: what it is, what became of it, and changes of its status, in the field names of kubernaut's catalogue. */
@Injectable()
export class PlaybookVersionsService {
  constructor(
    private readonly catalogue: PlaybookCatalogueService,
    private readonly repository: PlaybooksRepository,
    private readonly shown: ShownPlaybooks,
  ) {}

  /** @throws Problem `not_found` */
  async get(key: VersionKey, investigationId: string | undefined): Promise<ShownVersion> {
    const [row, status_history, shown_to_investigation] = await Promise.all([
      this.catalogue.get(key),
      this.repository.statusHistory(key.id, key.version),
      investigationId === undefined ? undefined : this.shownTo(investigationId, key),
    ]);
    return { ...row, status_history, ...(shown_to_investigation && { shown_to_investigation }) };
  }

  /** What an investigation was shown, also playbooks of a Data Storage service. */
  async shownOf(investigationId: string): Promise<ShownPlaybooksView> {
    const playbooks = await this.shown.of(investigationId);
    return { investigation_id: investigationId, playbooks, total: playbooks.length };
  }

  async disable(key: VersionKey, { disabled_by: by, disabled_reason: reason }: DisablePlaybookBody) {
    return statusAnswer(await this.catalogue.setStatus(key, { transition: 'disable', by, reason }));
  }

  async enable(key: VersionKey, { enabled_by: by, enabled_reason: reason }: EnablePlaybookBody) {
    return statusAnswer(await this.catalogue.setStatus(key, { transition: 'enable', by, reason }));
  }

  async deprecate(key: VersionKey, { deprecated_by, deprecation_notice }: DeprecatePlaybookBody) {
    const change = { transition: 'deprecate', by: deprecated_by, reason: deprecation_notice } as const;
    const { playbook_id, version, status, updated_at } = await this.catalogue.setStatus(key, change);
    return { playbook_id, version, status, deprecated_at: updated_at, deprecated_by, deprecation_notice };
  }

  async archive(key: VersionKey, { archived_by, archived_reason }: ArchivePlaybookBody) {
    const change = { transition: 'archive', by: archived_by, reason: archived_reason } as const;
    const { playbook_id, version, status, updated_at } = await this.catalogue.setStatus(key, change);
    return { playbook_id, version, status, archived_at: updated_at, archived_by, archived_reason };
  }

  private async shownTo(
    investigation_id: string,
    { id, version }: VersionKey,
  ): Promise<ShownToInvestigationView> {
    const showing = await this.shown.find(investigation_id, { playbook_id: id, version });
    return {
      investigation_id,
      shown: showing !== undefined,
      first_shown_at: showing?.first_shown_at ?? null,
      last_shown_at: showing?.last_shown_at ?? null,
      times: showing?.times ?? 0,
    };
  }
}

const statusAnswer = ({
  playbook_id,
  version,
  status,
  disabled_at,
  disabled_by,
  disabled_reason,
}: StatusRow): PlaybookStatusAnswer => ({
  playbook_id,
  version,
  status,
  disabled_at,
  disabled_by,
  disabled_reason,
});
