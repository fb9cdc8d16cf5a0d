import type { Replicas } from '../../../base/database/replicas.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';

/** What an operator should know who saves a tool that may keep state, if there are several replicas. */
export async function replicaWarnings(
  { protocol, url }: Pick<CustomTool, 'protocol' | 'url'>,
  replicas: Pick<Replicas, 'alive'>,
): Promise<{ readonly warnings?: readonly string[] }> {
  // The state of a server behind a URL is there.
  if (protocol !== 'mcp' || url !== null) return {};
  const { length } = await replicas.alive().catch(() => []);
  if (length < 2) return {};
  const warning =
    `Each of the ${length} replicas runs this MCP server for itself, with a memory of its own. If it keeps state between ` +
    'calls, pin its callers to one replica at the balancer, in haproxy with "balance hdr(x-session-id)"';
  return { warnings: [warning] };
}
