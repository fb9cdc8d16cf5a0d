/** The authenticated caller. */
export interface Principal {
  /** Owner of the key, else `anonymous`. */
  readonly userId: string;
  readonly scopes: ReadonlySet<Scope>;
}

export const scopes = ['tools:call', 'tools:admin'] as const;
export type Scope = (typeof scopes)[number];

/** Whether a caller may call a tool, and is shown it: lists, searches and the door all ask this. */
export const mayCall = (caller: Principal, _tool: { readonly name: string } | undefined): boolean =>
  caller.scopes.has('tools:call');
