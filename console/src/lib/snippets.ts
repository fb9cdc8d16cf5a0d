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

/** For `toolkeeper`: the command, then its arguments as a shell reads them. */
export const asCommand = (command: string, ...words: readonly string[]): string =>
  ['npx toolkeeper', command, ...words.map(quoted)].join(' ');
