#!/usr/bin/env node
/** A tool that takes a moment and then writes its execution id and the key of its input to the file `--ends`. */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const file = process.argv[2].replace('--ends=', '');
const inputSchema = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  let result = { status: 'healthy' };
  if (method === 'initialize')
    result = { name: 'ending', description: 'Writes that it ended', version: '1.0.0', inputSchema };
  if (method === 'execute') {
    await new Promise((done) => setTimeout(done, 2_000));
    appendFileSync(file, `${params.input.key}\n`);
    result = { key: params.input.key };
  }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}
