#!/usr/bin/env node
// The command line (docs/cli.md). Plain JavaScript, so that it can say what is wrong where nothing else would run.
import { existsSync } from 'node:fs';
import module from 'node:module';

const program = new URL('../dist/src/cli/main.js', import.meta.url);
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 15)) {
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
