/** Short key (`environment`) to the values for which a playbook is meant; `*` means any. */
export type PlaybookLabels = Readonly<Record<string, string | readonly string[]>>;

export const playbookStatuses = ['active', 'disabled', 'deprecated', 'archived'] as const;
export type PlaybookStatus = (typeof playbookStatuses)[number];

/** What an author writes; immutable once stored. Field names are those of kubernaut's catalogue, as on the wire. */
export interface NewPlaybook {
  readonly playbook_id: string;
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly owner?: string;
  readonly maintainer?: string;
  /** The procedure itself: any JSON value, or YAML as text. */
  readonly content: unknown;
  readonly labels?: PlaybookLabels;
  /** Words that an incident shows, such as `OOMKilled`. */
  readonly signals?: readonly string[];
  /** Other words for the same incident. */
  readonly aliases?: readonly string[];
  readonly when_to_use?: string;
  readonly when_not_to_use?: string;
  /** About this version, for those who review it. */
  readonly version_notes?: string;
  /** What differs from the version before. */
  readonly change_summary?: string;
  /** 0 to 1. */
  readonly expected_success_rate?: number;
  readonly expected_duration_seconds?: number;
}

/** What search knows of a playbook: the newest version of each id, if active. */
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
