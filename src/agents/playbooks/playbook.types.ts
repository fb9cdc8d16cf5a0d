/** Values for which a playbook is meant, by short key (`environment`); `*` means any. */
export type PlaybookLabels = Readonly<Record<string, string | readonly string[]>>;

/** Statuses of a version; `transitions` has the changes between them. */
export const playbookStatuses = ['active', 'disabled', 'deprecated', 'archived'] as const;
export type PlaybookStatus = (typeof playbookStatuses)[number];

/** The fields of a playbook that search uses. Search finds the latest version of each playbook, if that is active. */
export interface SearchablePlaybook {
  readonly playbook_id: string;
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly labels: PlaybookLabels;
  readonly signals: readonly string[];
  readonly aliases: readonly string[];
  readonly when_to_use: string | null;
}

/** The latest version of a playbook that search does not show, because it is not active. */
export interface HiddenPlaybook {
  readonly playbook_id: string;
  readonly version: string;
  readonly status: PlaybookStatus;
}
