import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/common/project.js';

/** Builds `dist/` if it is stale. @returns the project's root */
export function built(): string {
  const root = projectRoot();
  execFileSync(process.execPath, [join(root, 'scripts', 'setup.mjs')], { stdio: 'pipe' });
  return root;
}
