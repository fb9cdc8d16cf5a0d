import type { AnyAct } from './act.js';

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A command for a shell; the key stays out of it. */
export const asCurl = ({ method, path, body }: AnyAct, origin: string): string =>
  [
    `curl -s -X ${method} ${quoted(origin + path)}`,
    `  -H "authorization: Bearer $TOOLKEEPER_KEY"`,
    ...(body === '' ? [] : [`  -H 'content-type: application/json'`, `  -d ${quoted(body)}`]),
  ].join(' \\\n');

export const asTypeScript = ({ method, path, body }: AnyAct, origin: string): string =>
  `const reply = await fetch(${JSON.stringify(origin + path)}, {
  method: '${method}',
  headers: { authorization: \`Bearer \${process.env.TOOLKEEPER_KEY}\`${body === '' ? '' : ", 'content-type': 'application/json'"} },${
    body === '' ? '' : `\n  body: ${JSON.stringify(body)},`
  }
});
console.log(reply.status, await reply.text());`;

/** In the folder of the checkout; `npx` itself would look for a package of this name elsewhere. */
const cli = 'node bin/toolkeeper.mjs';

/** For `toolkeeper`: the command, then its arguments as a shell reads them. */
export const asCommand = (command: string, ...words: readonly string[]): string =>
  [cli, command, ...words.map(quoted)].join(' ');

/** The first call of a newcomer, in a shell in the server's folder. */
export const firstCall = (origin: string, tool: string): string =>
  [
    `export TOOLKEEPER_KEY=$(cat .toolkeeper/admin.key)`,
    `curl -s ${origin}/api/v1/tools/${tool}/execute \\`,
    `  -H "authorization: Bearer $TOOLKEEPER_KEY" \\`,
    `  -H 'content-type: application/json' -d '{"input": ${tool === 'disk_usage' ? '{"path": "/"}' : '{}'}}'`,
  ].join('\n');

/** The ways in for agents, as a client's configuration has them. */
export const connections = (origin: string): string =>
  `${JSON.stringify({ mcpServers: { toolkeeper: { type: 'http', url: `${origin}/mcp`, headers: { Authorization: 'Bearer ${TOOLKEEPER_KEY}' } } } }, null, 2)}

OpenAI: ${origin}/api/v1/tools?format=openai
REST:   ${origin}/docs`;
