import { createServer, request } from 'node:http';
import { createInterface } from 'node:readline';

/**
 * Starts a relay that gives tools and prompts without their server's prefix: the conformance suite knows them so.
 * @param others names of tools of no such server
 */
export function startNamesRelay(url, prefix, others) {
  const relay = createServer(async (asked, answered) => {
    const headers = { ...asked.headers };
    const body = named(headers, (await asked.toArray()).join(''), prefix, others);
    delete headers['content-length'];
    const forwarded = request(new URL(asked.url, url), { method: asked.method, headers });
    const broken = () => answered.destroy();
    answered.once('close', () => forwarded.destroy());
    forwarded.on('error', broken);
    forwarded.once('response', (answer) => {
      delete answer.headers['content-length'];
      answered.writeHead(answer.statusCode, answer.headers);
      createInterface({ input: answer })
        .on('error', broken)
        .on('line', (line) => answered.write(`${line.replaceAll(`"name":"${prefix}`, '"name":"')}\n`))
        .once('close', () => answered.end());
    });
    forwarded.end(body);
  });
  return new Promise((resolve) => relay.listen(0, '127.0.0.1', () => resolve(relay)));
}

/** Puts the full name of a tool or of a prompt into the headers. @returns the body with it */
function named(headers, text, prefix, others) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return text;
  }
  const of = message.params?.ref ?? message.params;
  if (!/^(tools|prompts)\/|^completion/.test(message.method) || typeof of?.name !== 'string') return text;
  if (others.includes(of.name)) return text;
  of.name = `${prefix}${of.name}`;
  const header = headers['mcp-name'];
  // The suite also sends wrong headers: those that are encoded, or are no name, stay as they are.
  if (/^\s*\w+\s*$/.test(header ?? '')) headers['mcp-name'] = `${prefix}${header.trim()}`;
  return JSON.stringify(message);
}
