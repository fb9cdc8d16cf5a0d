/** A question of a tool to the person that runs it. */
export interface AskedQuestion {
  readonly questionId: string;
  readonly params: {
    readonly mode?: string;
    readonly message?: string;
    readonly url?: string;
    readonly requestedSchema?: Readonly<Record<string, unknown>>;
  };
}
