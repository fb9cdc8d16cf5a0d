/** Short key (`environment`) to the values for which a playbook is meant; `*` means any. */
export type PlaybookLabels = Readonly<Record<string, string | readonly string[]>>;

export const playbookStatuses = ['active', 'disabled', 'deprecated', 'archived'] as const;
export type PlaybookStatus = (typeof playbookStatuses)[number];

/** The fields of a playbook that search knows: of the newest version of each id, if active. */
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

/** The latest version of an id that search may not show. */
export interface HiddenPlaybook {
  readonly playbook_id: string;
  readonly version: string;
  readonly status: PlaybookStatus;
}
