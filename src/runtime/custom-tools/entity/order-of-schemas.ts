import { canonicalJson } from '../../../base/common/canonical-json.js';
import type { Handshake } from '../../process-pool/pool.types.js';
import { readDefinition } from '../../mcp-client/mcp-review.js';
import type { CustomTool } from './custom-tool.entity.js';

type Schemas = Pick<CustomTool, 'inputSchema' | 'definitions'>;

/**
 * The schemas of a row from before their order was kept, in the order in which the executable lists them.
 * @returns undefined if there is nothing to mend
 */
export function reordered(tool: Schemas, { inputSchema, tools = [] }: Handshake): Schemas | undefined {
  const listed = new Map(tools.map((each) => [each['name'], readDefinition(each)]));
  const schemas = {
    inputSchema: inOrderOf(tool.inputSchema, inputSchema),
    definitions:
      tool.definitions?.map((each) =>
        inOrderOf(each, { definition: each, ...listed.get(each.name) }.definition),
      ) ?? null,
  };
  return isInSameOrder(tool, schemas) ? undefined : schemas;
}

export const isInSameOrder = (one: Schemas, other: Schemas): boolean =>
  JSON.stringify([one.inputSchema, one.definitions]) ===
  JSON.stringify([other.inputSchema, other.definitions]);

const inOrderOf = <T>(stored: T, listed: T | undefined): T =>
  listed && isSorted(stored) && canonicalJson(stored) === canonicalJson(listed) ? listed : stored;

/** Whether the members are in jsonb's order, shorter names first. */
function isSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  const lengths = Array.isArray(value) ? [] : Object.keys(value).map((name) => name.length);
  return (
    lengths.every((length, at) => at === 0 || length >= (lengths[at - 1] ?? 0)) &&
    Object.values(value).every(isSorted)
  );
}
