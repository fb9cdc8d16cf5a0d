import { screens } from '../lib/screens.js';
import { pathOfAct, toolActIds, toolActs } from '../lib/tool-acts.js';
import { type Unavailable, unavailableNames } from '../lib/unavailable.js';

export interface Entry {
  readonly name: string;
  /** The entry's kind, shown beside its name. */
  readonly kind: string;
  /** Path below /console. */
  readonly to: string;
}

/** Marks an action, which has no path. */
export const signOut = 'sign-out';

const places: readonly Entry[] = [
  ...Object.values(screens).map(({ title, to }) => ({ name: title, kind: 'Screen', to })),
  { name: 'Connect an agent: MCP client configuration', kind: 'Do', to: '/connect' },
  { name: 'Failed executions', kind: 'Screen', to: '/executions?status=error' },
  { name: 'Executions that timed out', kind: 'Screen', to: '/executions?status=timeout' },
  { name: 'Investigations with a spent budget', kind: 'Screen', to: '/investigations?spent=true' },
  { name: 'API keys: change, revoke', kind: 'Screen', to: '/settings/keys' },
  { name: 'Accounts at MCP servers', kind: 'Screen', to: '/settings/accounts' },
  { name: 'Audit', kind: 'Screen', to: '/settings/audit' },
  { name: 'About this server; theme: light, dark', kind: 'Screen', to: '/settings/about' },
  { name: 'Make an API key', kind: 'Do', to: '/settings/keys?make=true' },
  { name: 'Register a tool', kind: 'Do', to: '/tools/new' },
  { name: 'Register an MCP server', kind: 'Do', to: '/tools/new?from=mcp' },
  { name: 'Write a playbook', kind: 'Do', to: '/playbooks/new' },
  { name: 'Sign in', kind: 'Do', to: '/sign-in' },
  { name: 'Sign out', kind: 'Do', to: signOut },
];

/** Things that are found by their names, as the server lists them. */
interface Named {
  readonly tools: readonly {
    readonly name: string;
    readonly kind: string;
    readonly unavailable?: Unavailable | undefined;
  }[];
  readonly playbooks: readonly { readonly name: string; readonly playbook_id: string }[];
  /** Tools whose circuit is not closed; absent: not known. */
  readonly openCircuits?: readonly string[] | undefined;
}

const maxPerKind = 30;
const isRegistered = new Set(['custom', 'server']);

/** An id has a digit and no space. Tools with such a name come first. */
const looksLikeId = (typed: string): boolean => /^\S*\d\S*$/.test(typed) && typed.length >= 4;

/**
 * The entries that fit the typed text: what has all its words in its name, what has it as its id, and the playbooks that
 * an agent finds by it.
 */
export function entriesFor(typed: string, { tools, playbooks, openCircuits }: Named): Entry[] {
  const text = typed.trim();
  const words = text.toLowerCase().split(/\s+/);
  const fits = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const found = [
    ...tools
      .filter(({ name }) => fits(name))
      .slice(0, maxPerKind)
      .map(({ name, kind, unavailable }) => ({
        name,
        kind: `Tool, ${kind}${unavailable ? `, ${unavailableNames[unavailable.state]}` : ''}`,
        to: `/tools/${encodeURIComponent(name)}/activity`,
      })),
    ...places.filter(({ name }) => fits(name)),
  ];
  if (text === '') return found;
  const procedures = playbooks
    .filter(({ name, playbook_id }) => fits(`${name} ${playbook_id}`))
    .slice(0, maxPerKind)
    .map(({ name, playbook_id }) => ({
      ...{ name, kind: 'Playbook', to: `/playbooks/${encodeURIComponent(playbook_id)}` },
    }));
  const acts = tools.flatMap(({ name: tool, kind }) => {
    const isClosed = openCircuits?.includes(tool) === false;
    const own = toolActIds
      .filter((id) => (toolActs[id].tab === 'circuit' ? kind !== 'server' : isRegistered.has(kind)))
      .filter((id) => id !== 'close-circuit' || !isClosed)
      .map((id) => [toolActs[id].title, pathOfAct(tool, id)] as const);
    const edit = isRegistered.has(kind) ? [['Edit', `/tools/${encodeURIComponent(tool)}/edit`] as const] : [];
    return [...own, ...edit]
      .filter(([title]) => words.some((word) => title.toLowerCase().includes(word)))
      .map(([title, to]) => ({ name: `${title}: ${tool}`, kind: 'Do', to }))
      .filter(({ name }) => fits(name));
  });
  const asked = encodeURIComponent(text);
  const byId = { name: `Records with the id ${text}`, kind: 'Find', to: `/find?id=${asked}` };
  const bySearch = { name: `Playbooks for ${text}`, kind: 'Find', to: `/playbooks?q=${asked}` };
  const all = [...found, ...acts.slice(0, maxPerKind), ...procedures];
  return looksLikeId(text) && !tools.some(({ name }) => name === text)
    ? [byId, ...all, bySearch]
    : [...all, bySearch, byId];
}
