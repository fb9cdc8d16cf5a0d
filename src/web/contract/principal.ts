import { isOneOf, type NamePattern } from '../../base/common/name-patterns.js';

/** The authenticated caller. */
export interface Principal {
  /** Owner of the key, or the subject of the access token; else `anonymous`. */
  readonly userId: string;
  /** Id of the key that was shown, or `<issuer>#<subject>` of the access token; absent without either. */
  readonly keyId?: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Projects that it may use; the first is the default. Absent: all, with `default` as the default. */
  readonly projects?: readonly string[] | undefined;
  /** Names of the tools that it may see and call, or beginnings of names with a `*`. Absent: all. */
  readonly tools?: readonly NamePattern[];
  /** Virtual MCP servers that the key is bound to, by name. Absent: to none. */
  readonly mcpServers?: readonly string[];
  /** The tools of the virtual MCP servers of its key, or of the one that it uses now. Absent: all. */
  readonly choice?: ToolChoice;
  /** No key was shown: of the built-in tools only those may be called that neither write nor reach out. */
  readonly keyless?: boolean;
  /** Absent: any number of calls. */
  readonly rate?: CallRate;
  /** The holder of the budgets that its calls spend. Absent: the investigation. */
  readonly budget?: RateSubject;
  /** Present if an access token was shown instead of a key. */
  readonly token?: TokenCaller;
}

/** A caller by an access token. */
export interface TokenCaller {
  /** The person's name, for show. */
  readonly name?: string;
  /** The agent: the client to which the token was issued. */
  readonly client?: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The scopes that access rules grant; the token's own `scope` may narrow them. */
  readonly granted: readonly Scope[];
  /** Present if no access rule matches: the claims that rules look at. */
  readonly unmatched?: string;
  /** Absent in a session of the console, and in a call that was stored. */
  readonly text?: TokenText;
}

/** The text of an access token, which JSON, copies and logs of its caller leave out. */
export class TokenText {
  readonly #text: string;

  /** @param id its SHA-256 */
  constructor(
    text: string,
    readonly id: string,
  ) {
    this.#text = text;
  }

  /** To exchange it: it is sent nowhere else. */
  reveal(): string {
    return this.#text;
  }

  toJSON(): undefined {
    return undefined;
  }
}

/** Tools that were chosen, as they are now. */
export interface ToolChoice {
  has(tool: string): boolean;
}

/** A caller with the projects that its request covers; absent: all. */
export type Reader = Pick<Principal, 'projects'>;

/** Whether a key is for some projects alone. Without a key a caller calls in one project and reads of all. */
export const isBound = ({ projects, keyless }: Principal): boolean => projects !== undefined && !keyless;

/** How many calls may come within a second, or a minute. */
export interface CallRate {
  readonly calls: number;
  readonly per: (typeof ratePeriods)[number];
  /** Calls that share the limit, for access tokens: those of a person, or those of an agent for all people. Default: `subject`. */
  readonly by?: RateSubject | undefined;
}

/** The person, or the agent for all people, whose calls count together. A token that names no agent counts for its person. */
export function sharerOf({ keyId = '', token }: Principal, by: RateSubject = 'subject') {
  const { client } = token ?? {};
  // A key's id begins with the issuer, up to the first #.
  return by === 'client' && client !== undefined
    ? { id: `client ${keyId.split('#', 1)[0]}#${client}`, who: `the client ${client}` }
    : { id: keyId, who: token ? 'this person' : 'this key' };
}

/** The caller of several requests: the id of its key; callers without a key are one. */
export const callerIdOf = ({ keyId = 'anonymous' }: Principal): string => keyId;

export const ratePeriods = ['second', 'minute'] as const;
export const rateSubjects = ['subject', 'client'] as const;
export type RateSubject = (typeof rateSubjects)[number];
export const scopes = [
  'tools:call',
  'tools:admin',
  'metrics:read',
  'playbooks:write',
  'traces:write',
  'traces:read',
  'experiments:write',
  'audit:read',
  'admin',
] as const;
export type Scope = (typeof scopes)[number];

/** The parts of a tool that decide who may call it. */
interface Callable {
  readonly name: string;
  readonly kind: string;
  readonly annotations: { readonly readOnly: boolean; readonly openWorld: boolean };
}

/** Whether a caller may call a tool: lists, searches and the door all ask this. */
export const mayCall = (caller: Principal, tool: Callable): boolean =>
  mayName(caller, tool.name) && !needsKey(caller, tool);

/** Whether a caller may call a tool of this name, whether there is one or not. */
export const mayName = (caller: Principal, name: string): boolean =>
  caller.scopes.has('tools:call') &&
  (caller.tools === undefined || isOneOf(caller.tools, name)) &&
  (caller.choice?.has(name) ?? true);

/** Custom tools were registered by the operator for the agents here; a built-in tool that writes or reaches out acts for its caller. */
export const needsKey = ({ keyless = false }: Principal, { kind, annotations }: Callable): boolean =>
  keyless && kind === 'builtin' && (!annotations.readOnly || annotations.openWorld);
