import { isOneOf, type NamePattern } from '../../base/common/name-patterns.js';

/** The authenticated caller. */
export interface Principal {
  /** Owner of the key, or subject of the access token, or else `anonymous`. */
  readonly userId: string;
  /** Id of the key, or `<issuer>#<subject>` of the access token. Absent without either. */
  readonly keyId?: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Projects that it may use; the first is the default. Absent: all, with `default` as the default. */
  readonly projects?: readonly string[] | undefined;
  /** Names of the tools that it may see and call, or beginnings of names with a `*`. Absent: all. */
  readonly tools?: readonly NamePattern[];
  /** Names of the virtual MCP servers to which the key is limited. Absent: it is not limited. */
  readonly mcpServers?: readonly string[];
  /** The tools of the virtual MCP servers of its key, or of the one that it uses now. Absent: all. */
  readonly choice?: ToolChoice;
  /** Set for a caller without a key, which may not call built-in tools that write or reach out. */
  readonly keyless?: boolean;
  /** Max rate of calls. Absent: no limit. */
  readonly rate?: CallRate;
  /** Whose budget its calls spend. Absent: that of the investigation. */
  readonly budget?: RateSubject;
  /** Present if the caller has an access token instead of a key. */
  readonly token?: TokenCaller;
}

/** A caller by an access token. */
export interface TokenCaller {
  /** Display name of the person. */
  readonly name?: string;
  /** The agent: the client to which the token was issued. */
  readonly client?: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The scopes that access rules grant; the token's own `scope` may narrow them. */
  readonly granted: readonly Scope[];
  /** Claims that the access rules read. Present if no rule matches. */
  readonly unmatched?: string;
  /** The token itself. Absent for a console session, and for a stored call. */
  readonly text?: TokenText;
}

/** The text of an access token. It does not appear in JSON, copies or logs of its caller. */
export class TokenText {
  readonly #text: string;

  /** @param id SHA-256 of the token */
  constructor(
    text: string,
    readonly id: string,
  ) {
    this.#text = text;
  }

  /** The token, only for a token exchange with its issuer. */
  reveal(): string {
    return this.#text;
  }

  toJSON(): undefined {
    return undefined;
  }
}

/** A selection of tools, which may change. */
export interface ToolChoice {
  has(tool: string): boolean;
}

/** A caller with the projects that its request covers; absent: all. */
export type Reader = Pick<Principal, 'projects'>;

/** Whether the figures that a caller reads are of some projects. Without a key it calls in one project, and reads figures of all. */
export const isBound = ({ projects, keyless }: Principal): boolean => projects !== undefined && !keyless;

/** Max calls per second or minute. */
export interface CallRate {
  readonly calls: number;
  readonly per: (typeof ratePeriods)[number];
  /** For access tokens: whether the calls of a person (`subject`, the default) or of an agent (`client`) share the limit. */
  readonly by?: RateSubject | undefined;
}

/** The key, person or agent whose calls are counted together: its id, and a name for messages. Without an agent: the person. */
export function sharerOf({ keyId = '', token }: Principal, by: RateSubject = 'subject') {
  const { client } = token ?? {};
  // A key's id begins with the issuer, up to the first #.
  if (by === 'client' && client !== undefined)
    return { id: `client ${keyId.split('#', 1)[0]}#${client}`, who: `the client ${client}` };
  return { id: keyId, who: token ? 'this person' : 'this key' };
}

/** The id of a caller: that of its key. All callers without a key share one. */
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

/** Whether a caller may call a tool, for lists, searches and calls. */
export const mayCall = (caller: Principal, tool: Callable): boolean =>
  mayName(caller, tool.name) && !needsKey(caller, tool);

/** Whether a caller may call a tool of this name, which need not exist. */
export const mayName = (caller: Principal, name: string): boolean =>
  caller.scopes.has('tools:call') &&
  (caller.tools === undefined || isOneOf(caller.tools, name)) &&
  (caller.choice?.has(name) ?? true);

/** Whether the caller needs a key: for built-in tools that write or reach out. The operator answers for custom tools. */
export const needsKey = ({ keyless = false }: Principal, { kind, annotations }: Callable): boolean =>
  keyless && kind === 'builtin' && (!annotations.readOnly || annotations.openWorld);
