import { type AnyAct, projectInHeader } from './act.js';
import type { EnvironmentView, ToolView } from './api-types.js';
import { isObject } from './exact-json.js';

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A shell command. It reads the key from the environment. */
export const asCurl = ({ method, path, body, project }: AnyAct, origin: string): string =>
  [
    `curl -s -X ${method} ${quoted(origin + path)}`,
    `  -H "authorization: Bearer $TOOLKEEPER_KEY"`,
    ...(project === undefined ? [] : [`  -H ${quoted(`x-project-id: ${projectInHeader(project)}`)}`]),
    ...(body === '' ? [] : [`  -H 'content-type: application/json'`, `  -d ${quoted(body)}`]),
  ].join(' \\\n');

export const asTypeScript = ({ method, path, body, project }: AnyAct, origin: string): string =>
  `const reply = await fetch(${JSON.stringify(origin + path)}, {
  method: '${method}',
  headers: { authorization: \`Bearer \${process.env.TOOLKEEPER_KEY}\`${project === undefined ? '' : `, 'x-project-id': ${JSON.stringify(projectInHeader(project))}`}${body === '' ? '' : ", 'content-type': 'application/json'"} },${
    body === '' ? '' : `\n  body: ${JSON.stringify(body)},`
  }
});
console.log(reply.status, await reply.text());`;

/** Origins for which the command needs no `--url`. */
const defaultOrigins = ['http://127.0.0.1:3000', 'http://localhost:3000', undefined];

/**
 * A `toolkeeper` command with its arguments quoted for a shell. It names the server's own file, because `npx toolkeeper` would look for a
 * package of this name elsewhere.
 */
export function asCommand(
  environment: Pick<EnvironmentView, 'command'> | null,
  command: string,
  ...words: readonly string[]
): string {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  const url = defaultOrigins.includes(location?.origin) ? [] : ['--url', location?.origin ?? ''];
  const file = environment ? quoted(environment.command) : 'bin/toolkeeper.mjs';
  return ['node', file, ...url, command, ...words.map(quoted)].join(' ');
}

/** The command that prints the operator's key; undefined if the server has no file with it, or does not name it. */
export const keyCommand = (environment: EnvironmentView | null): string | undefined =>
  environment?.keyFile ? `cat ${quoted(environment.keyFile)}` : undefined;

/** The first call of a newcomer, in a shell of the server's machine. @param readKey prints the key */
export const firstCall = (
  origin: string,
  { name: tool, inputSchema: schema }: { readonly name: string; readonly inputSchema: Schema },
  readKey = 'cat admin.key',
): string =>
  [
    `export TOOLKEEPER_KEY=$(${readKey})`,
    `curl -s ${origin}/api/v1/tools/${tool}/execute \\`,
    `  -H "authorization: Bearer $TOOLKEEPER_KEY" \\`,
    `  -H 'content-type: application/json' -d ${quoted(JSON.stringify({ input: isObject(schema['properties']) ? exampleOf(schema) : {} }))}`,
  ].join('\n');

type Schema = Readonly<Record<string, unknown>>;

/** A value that a schema allows: its own example, otherwise one of its type with the required members. */
export function exampleOf(schema: Schema): unknown {
  const given = givenIn(schema);
  if (given !== undefined) return given;
  const { properties, type, minimum } = schema;
  if (isObject(properties))
    return Object.fromEntries(requiredIn(schema).map(([name, its]) => [name, exampleOf(its)]));
  return (
    { integer: minimum ?? 1, number: minimum ?? 1, boolean: false, array: [], object: {} }[String(type)] ??
    'text'
  );
}

/** The value that a schema itself names. */
const givenIn = ({ default: initial, examples, example, const: fixed, enum: options }: Schema): unknown =>
  [initial, firstOf(examples), example, fixed, firstOf(options)].find((each) => each !== undefined);

/** The members that a schema requires, with their own schemas. */
function requiredIn({ properties, required }: Schema): (readonly [name: string, Schema])[] {
  const names = Array.isArray(required) ? required.map(String) : [];
  const schemas = isObject(properties) ? properties : {};
  return names.map((name) => [name, isObject(schemas[name]) ? schemas[name] : {}] as const);
}

/** The part of an input that the schema itself names, with which the form of a call starts. */
export const knownInput = (schema: Schema): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    requiredIn(schema).flatMap(([name, its]) => (givenIn(its) === undefined ? [] : [[name, givenIn(its)]])),
  );

/** The tool of a newcomer's first call: one whose schema names a whole input, preferably a custom tool. */
export function easiest<T extends Pick<ToolView, 'name' | 'kind' | 'inputSchema'>>(
  tools: readonly T[],
): T | undefined {
  // Tools of the kind ui need a page that answers.
  const callable = tools.filter(({ kind }) => kind !== 'ui');
  const isKnown = ({ inputSchema }: T): boolean =>
    Object.keys(knownInput(inputSchema)).length === requiredIn(inputSchema).length;
  const known = callable.filter(isKnown);
  const usual = known.find(({ name }) => name === 'disk_usage');
  return known.find(({ kind }) => kind === 'custom') ?? usual ?? known[0] ?? callable[0];
}

const firstOf = (list: unknown): unknown => (Array.isArray(list) ? (list as unknown[])[0] : undefined);

const bearer = { Authorization: 'Bearer ${TOOLKEEPER_KEY}' };
const pretty = (value: unknown): string => JSON.stringify(value, null, 2);

/** The configuration of each kind of client: the file that it belongs in, and its text. Without its paths over HTTP alone. @param server virtual */
export function connections(
  origin: string,
  environment: EnvironmentView | null,
  server?: string,
): Readonly<Record<string, readonly [file: string, text: string]>> {
  const overHttp = {
    type: 'http',
    url: `${origin}/mcp${server === undefined ? '' : `/${server}`}`,
    headers: bearer,
  };
  // The command relays all tools.
  const byCommand = server === undefined &&
    environment && {
      ...{ command: 'node', args: [environment.command, 'mcp'] },
      env: { TOOLKEEPER_DATA_DIR: environment.dataDir },
    };
  const servers = pretty({ mcpServers: { toolkeeper: byCommand || overHttp } });
  const inVsCode = byCommand ? { type: 'stdio', ...byCommand } : overHttp;
  return {
    'Claude Desktop': ['claude_desktop_config.json', servers],
    Cursor: ['.cursor/mcp.json', servers],
    'VS Code': ['.vscode/mcp.json', pretty({ servers: { toolkeeper: inVsCode } })],
    HTTP: ['MCP over HTTP', pretty({ mcpServers: { toolkeeper: overHttp } })],
    REST: ['OpenAI, Anthropic, REST', `${origin}/api/v1/tools?format=openai\n${origin}/docs`],
  };
}
