export interface Entry {
  readonly name: string;
  /** The entry's kind, shown beside its name. */
  readonly kind: string;
  /** Path below /console. */
  readonly to: string;
}

const screens: readonly Entry[] = [
  { name: 'Overview', kind: 'Screen', to: '/' },
  { name: 'Tools', kind: 'Screen', to: '/tools' },
  { name: 'Executions', kind: 'Screen', to: '/executions' },
  { name: 'Failed executions', kind: 'Screen', to: '/executions?status=error' },
  { name: 'Executions that timed out', kind: 'Screen', to: '/executions?status=timeout' },
  { name: 'Playbooks', kind: 'Screen', to: '/playbooks' },
  { name: 'Investigations', kind: 'Screen', to: '/investigations' },
  { name: 'Investigations with a spent budget', kind: 'Screen', to: '/investigations?spent=true' },
  { name: 'Register a tool', kind: 'Do', to: '/tools/new' },
  { name: 'Register an MCP server', kind: 'Do', to: '/tools/new?from=mcp' },
  { name: 'Write a playbook', kind: 'Do', to: '/playbooks/new' },
  { name: 'Sign in', kind: 'Do', to: '/sign-in' },
];

const mostTools = 30;

/** An id has a digit and no space: a name that does, too, is found as a tool first. */
const looksLikeId = (typed: string): boolean => /^\S*\d\S*$/.test(typed) && typed.length >= 4;

/** The entries that fit the typed text: tools and screens whose name holds all its words, and records that have it as their id. */
export function entriesFor(
  typed: string,
  tools: readonly { readonly name: string; readonly kind: string }[],
): Entry[] {
  const text = typed.trim();
  const words = text.toLowerCase().split(/\s+/);
  const fits = ({ name }: { readonly name: string }): boolean =>
    words.every((word) => name.toLowerCase().includes(word));
  const found = [
    ...tools
      .filter(fits)
      .slice(0, mostTools)
      .map(({ name, kind }) => ({
        name,
        kind: `Tool, ${kind}`,
        to: `/tools/${encodeURIComponent(name)}/activity`,
      })),
    ...screens.filter(fits),
  ];
  if (text === '') return found;
  const byId = {
    name: `Whatever has the id ${text}`,
    kind: 'Find',
    to: `/find?id=${encodeURIComponent(text)}`,
  };
  return looksLikeId(text) && !tools.some(({ name }) => name === text) ? [byId, ...found] : [...found, byId];
}
