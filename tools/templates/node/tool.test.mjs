/** Runs the tool as Toolkeeper does; no server is needed: node --test */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const here = import.meta.dirname;
const manifest = JSON.parse(readFileSync(join(here, 'tool.json'), 'utf8'));

/** The tool's answer to one request. */
function ask(method, params) {
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: '1', method, params })}\n`;
  const { stdout } = spawnSync(manifest.command, manifest.args, {
    cwd: here,
    input,
    encoding: 'utf8',
    timeout: 30_000,
  });
  const messages = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return messages.find(({ id }) => id === '1');
}

const call = (input) => ask('execute', { input, context: { timeout: 10_000 } });

test('introduces itself by the name that is registered', () => {
  const { result } = ask('initialize', { protocolVersion: '1.0' });
  assert.equal(result.name, manifest.name);
  assert.equal(result.inputSchema.type, 'object');
});

test('is healthy', () => assert.equal(ask('health', {}).result.status, 'healthy'));

test('answers', () => assert.equal(call({ query: 'pods', limit: 2 }).result.count, 2));

test('refuses a wrong input', () => {
  assert.equal(call({}).error.code, -32602);
  assert.equal(call({ query: 'pods', limit: 0 }).error.code, -32602);
});

test('tells its self-reported error', () => assert.equal(call({ query: 'fail' }).error.code, -32001));
