import type { Act } from './act.js';

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A command for a shell; the key stays out of it. */
export const asCurl = ({ method, path, body }: Act, origin: string): string =>
  [
    `curl -s -X ${method} ${quoted(origin + path)}`,
    `  -H "authorization: Bearer $TOOLKEEPER_KEY" -H 'content-type: application/json'`,
    `  -d ${quoted(body)}`,
  ].join(' \\\n');

export const asTypeScript = ({ method, path, body }: Act, origin: string): string =>
  `const reply = await fetch(${JSON.stringify(origin + path)}, {
  method: '${method}',
  headers: { authorization: \`Bearer \${process.env.TOOLKEEPER_KEY}\`, 'content-type': 'application/json' },
  body: ${JSON.stringify(body)},
});
console.log(await reply.json());`;

/** For `toolkeeper tool call`. */
export const asCommand = (tool: string, inputText: string): string =>
  `npx toolkeeper tool call ${quoted(tool)} ${quoted(inputText)}`;
