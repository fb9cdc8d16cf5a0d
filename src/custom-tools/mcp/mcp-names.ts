const between = '__';

/** The name by which a server's tool is called. */
export const mcpToolName = (server: string, tool: string): string => `${server}${between}${tool}`;

/** @returns the server of a tool with this name; undefined where it can be none of a server's */
export function serverOf(name: string): string | undefined {
  const at = name.indexOf(between);
  return at > 0 ? name.slice(0, at) : undefined;
}

/** Whether the names of a server's tools say without doubt whose they are. */
export const isServerName = (name: string): boolean => !name.includes(between) && !name.endsWith('_');
