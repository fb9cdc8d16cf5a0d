#!/usr/bin/env node
// The command line (docs/tools/command-line.md). Plain JavaScript, so that it can say what is wrong where nothing else would run.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const program = new URL('../dist/src/cli/main.js', import.meta.url);
/** The Node that the project brings along. */
const ownNode = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isTooOld = major < 22 || (major === 22 && minor < 15);

if (isTooOld && existsSync(ownNode)) {
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(ownNode, args, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => (process.exitCode = code ?? 1));
} else if (isTooOld) {
  process.stderr.write(`toolkeeper: Node 22.15 or newer is needed, this is ${process.version}\n`);
  process.exitCode = 2;
} else if (!existsSync(program)) {
  process.stderr.write('toolkeeper: it is not built yet: npm run build\n');
  process.exitCode = 2;
} else {
  module.enableCompileCache();
  const { main } = await import(program.href);
  process.exitCode = await main(process.argv.slice(2));
}
