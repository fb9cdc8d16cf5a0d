/** What identifies a playbook's vector: its version is part of it, since the text changes with it. */
export function playbookKey(playbook: { readonly playbook_id: string; readonly version: string }): string {
  return `${playbook.playbook_id}@${playbook.version}`;
}

export interface VectorIndexState {
  /** It holds the vectors of everything that search may show. */
  readonly ready: boolean;
  /** Why it is behind, in one word; undefined: it is not. */
  readonly degraded: string | undefined;
  /** Playbooks with a vector. */
  readonly size: number;
}

/** Playbooks' vectors of one provider, searched exactly. */
export interface VectorIndex {
  readonly state: VectorIndexState;
  /**
   * @param query of length 1, from the provider of the vectors
   * @param candidates keys (`playbookKey`) that passed the label filter
   * @param top only so many, the nearest; absent: all
   * @returns the cosine of each candidate that has a vector
   */
  scores(
    query: Float32Array,
    candidates: readonly string[],
    top?: number,
  ): Promise<ReadonlyMap<string, number>>;
}
