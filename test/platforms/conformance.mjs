import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, MCP's own SDK as a server behind it, HTTP, the suite; mock: nothing

const suite = join(import.meta.dirname, 'node_modules', '.bin', 'conformance');
const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const fixture = join(root, 'test', 'fixtures', 'tools', 'conformance-server.mjs');
/** Scenarios and checks that are expected to fail, with the reason of each. */
const expected = join(import.meta.dirname, 'not-offered.yaml');
const prefix = 'fixtures__';

/** Gives the names of tools and prompts as the suite knows them: without the name of their server. */
function startRelay(url) {
  const relay = createServer((asked, answered) => {
    const chunks = [];
    asked.on('data', (chunk) => chunks.push(chunk));
    asked.once('end', () => {
      const { headers, body } = named(asked.headers, Buffer.concat(chunks).toString());
      const path = new URL(asked.url, url);
      const forwarded = request(path, { method: asked.method, headers }, (answer) => {
        const { 'content-length': _length, ...others } = answer.headers;
        answered.writeHead(answer.statusCode, others);
        createInterface({ input: answer })
          .on('line', (line) => answered.write(`${line.replaceAll(`"name":"${prefix}`, '"name":"')}\n`))
          .once('close', () => answered.end());
      });
      answered.once('close', () => forwarded.destroy());
      forwarded.on('error', () => answered.destroy());
      forwarded.end(body);
    });
  });
  return new Promise((resolve) => relay.listen(0, '127.0.0.1', () => resolve(relay)));
}

/** The request with the full name of a tool or of a prompt. */
function named({ 'content-length': _length, ...headers }, text) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return { headers: { ...headers, 'content-length': Buffer.byteLength(text) }, body: text };
  }
  const of = message.params?.ref ?? message.params;
  if (/^(tools|prompts)\/|^completion/.test(message.method) && typeof of?.name === 'string') {
    of.name = `${prefix}${of.name}`;
    const name = headers['mcp-name'];
    // The suite also sends wrong ones: those that are encoded or are no name stay as they are.
    if (/^\s*\w+\s*$/.test(name ?? '')) headers['mcp-name'] = `${prefix}${name.trim()}`;
  }
  const body = JSON.stringify(message);
  return { headers: { ...headers, 'content-length': Buffer.byteLength(body) }, body };
}

describe('the conformance suite of MCP', () => {
  let server;
  let relay;
  before(async () => {
    server = await startPlatformServer();
    await server.register({
      name: 'fixtures',
      protocol: 'mcp',
      command: 'node',
      args: [fixture],
      workingDir: root,
    });
    relay = await startRelay(server.url);
  });
  after(async () => {
    relay.closeAllConnections();
    relay.close();
    await server.stop();
  });

  const ask = (...options) =>
    run(process.execPath, [suite, ...options, '--expected-failures', expected], { cwd: server.folder });
  const asServer = (...options) =>
    ask('server', '--url', `http://127.0.0.1:${relay.address().port}/mcp`, ...options);

  for (const revision of ['2025-11-25', '2026-07-28'])
    it(`what the revision ${revision} requires of a server`, () => asServer('--requirements', revision));
});
