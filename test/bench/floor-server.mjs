/**
 * The floor that the door is measured against: bare Fastify and one hand-written stdio round trip to the same child.
 * No validation, no guards, no record; the least that any runtime must do.
 */
import { spawn } from 'node:child_process';
import Fastify from 'fastify';

const [script] = process.argv.slice(2);
const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let nextId = 0;
let rest = '';

child.stdout.setEncoding('utf8');
child.stdout.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, result } = JSON.parse(line);
    waiting.get(id)?.(result);
    waiting.delete(id);
  }
});

function request(method, params) {
  return new Promise((resolve) => {
    const id = String(nextId++);
    waiting.set(id, resolve);
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  });
}

await request('initialize', { protocolVersion: '1.0' });
const fastify = Fastify();
fastify.post('/execute', async ({ body }) => ({
  result: await request('execute', { input: body.input, context: {} }),
}));
const address = await fastify.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`${JSON.stringify({ address })}\n`);
process.on('SIGTERM', () => {
  child.kill('SIGKILL');
  process.exit(0);
});
