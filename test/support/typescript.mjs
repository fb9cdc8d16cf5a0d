/** Lets Node load the TypeScript of tests and sources as it stands; imported for its effect. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadId } from 'node:worker_threads';

const settings = readFileSync(new URL('../../.swcrc', import.meta.url), 'utf8');
const options = JSON.parse(settings);
const require = createRequire(import.meta.url);
/** What was compiled is kept: each app that a test starts has a worker that would compile the same again. */
const cache = fileURLToPath(new URL('../../node_modules/.cache/typescript/', import.meta.url));
mkdirSync(cache, { recursive: true });

function compiled(filename) {
  const source = readFileSync(filename, 'utf8');
  const hash = createHash('sha256')
    .update(settings)
    .update(filename)
    .update('\0')
    .update(source)
    .digest('hex');
  const kept = join(cache, `${hash}.mjs`);
  if (existsSync(kept)) return readFileSync(kept, 'utf8');
  const { code } = require('@swc/core').transformSync(source, {
    ...options,
    $schema: undefined,
    swcrc: false,
    filename,
    module: { type: 'es6' },
    sourceMaps: 'inline',
  });
  const draft = `${kept}.${process.pid}-${threadId}`;
  writeFileSync(draft, code);
  renameSync(draft, kept);
  return code;
}

registerHooks({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      if (!/^(\.{1,2}\/|file:).*\.js$/.test(specifier)) throw error;
      return next(specifier.replace(/\.js$/, '.ts'), context);
    }
  },
  load(url, context, next) {
    if (!/^file:.*(?<!\.d)\.ts$/.test(url)) return next(url, context);
    return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true };
  },
});
