/** Short key (`environment`) to the values for which a playbook is meant; `*` means any. */
export type PlaybookLabels = Readonly<Record<string, string | readonly string[]>>;

export const playbookStatuses = ['active', 'disabled', 'deprecated', 'archived'] as const;
export type PlaybookStatus = (typeof playbookStatuses)[number];

/** What an author writes; immutable once stored. Field names are DD-STORAGE-008's, as on the wire. */
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

/** One playbook as an LLM reads it: these four fields and no other. */
export interface PlaybookHit {
  readonly playbook_id: string;
  readonly version: string;
  readonly description: string;
  /** 0 to 1, two decimals. */
  readonly confidence: number;
}

/** The answer of a search, by confidence descending. */
export interface PlaybookAnswer {
  readonly playbooks: readonly PlaybookHit[];
  readonly total_results: number;
}

export interface PlaybookQuery {
  readonly query: string;
  /** What the caller's situation demands; see `labelsMatch`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Lowest confidence shown, 0 to 1. */
  readonly minConfidence: number;
  readonly limit: number;
}
