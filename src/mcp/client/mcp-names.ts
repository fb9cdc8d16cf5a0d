import { sha256 } from '../../common/canonical-json.js';

const between = '__';
const refused = /[^A-Za-z0-9_.-]+/g;

/** The name by which a server's tool is called; it holds nothing that platforms refuse. */
export function mcpToolName(server: string, tool: string): string {
  const alias = tool.replace(refused, '_').slice(0, 119);
  return `${server}${between}${tool.search(refused) < 0 ? tool : `${alias}_${sha256(tool).slice(0, 8)}`}`;
}

/** @returns the server of a tool with this name; undefined where it can be none of a server's */
export function serverOf(name: string): string | undefined {
  const at = name.indexOf(between);
  return at > 0 ? name.slice(0, at) : undefined;
}

/** Whether the names of a server's tools say without doubt whose they are. */
export const isServerName = (name: string): boolean => !name.includes(between) && !name.endsWith('_');
