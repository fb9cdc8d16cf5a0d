import { resolve } from 'node:path';
import { mcpDialect } from '../../mcp/client/mcp-dialect.js';
import type { Dialect } from '../../process-pool/pool.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';

type Spoken = Pick<CustomTool, 'protocol' | 'sandbox' | 'permissions'>;

/**
 * How the processes of a tool are spoken to; undefined: as docs/tools/protocol.md says. The roots that a server hears of are the
 * paths that it was granted.
 */
export function dialectOf(
  { protocol, sandbox, permissions }: Spoken,
  workingDir: string,
): Dialect | undefined {
  if (protocol !== 'mcp') return undefined;
  const granted = permissions?.canReadFiles === false ? [] : (sandbox?.allowedPaths ?? []);
  return mcpDialect(granted.map((path) => resolve(workingDir, path)));
}
