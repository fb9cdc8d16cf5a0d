#!/usr/bin/env node
/** A tool that takes a moment; it writes the key of its input to the file `--began` first, and to the file `--ends` at the end. */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [began, ends] = process.argv.slice(2).map((each) => each.split('=')[1]);
const inputSchema = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  let result = { status: 'healthy' };
  if (method === 'initialize')
    result = { name: 'ending', description: 'Writes that it ended', version: '1.0.0', inputSchema };
  if (method === 'execute') {
    appendFileSync(began, `${params.input.key}\n`);
    await new Promise((done) => setTimeout(done, 600));
    appendFileSync(ends, `${params.input.key}\n`);
    result = { key: params.input.key };
  }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}
