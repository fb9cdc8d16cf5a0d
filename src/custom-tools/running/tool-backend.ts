import type { ProcessPool } from '../../process-pool/process-pool.js';
import type { EffectiveSandbox } from '../../sandbox/sandbox.types.js';
import type { ProcessEnd } from '../../sandbox/violation.js';
import type { McpListing } from '../mcp/mcp-listing.js';
import type { Redactor } from '../secrets/redactor.js';

export interface RunningBackend {
  readonly pool: ProcessPool;
  readonly workingDir: string;
  /** What is started, links resolved. */
  readonly realPath: string;
  readonly redactor: Redactor;
  /** What holds for its processes; absent: nothing is known of it. */
  readonly effective?: EffectiveSandbox;
  /** The rule of its sandbox that a process was ended for, by how it ended. */
  readonly brokenRule?: (end: ProcessEnd) => string | undefined;
  /** Of an MCP server: the tools that it lists. */
  readonly listing?: McpListing;
}

/** A pool to run on, or the reason why there is none. */
export type ToolBackend = RunningBackend | { readonly unavailable: string };
