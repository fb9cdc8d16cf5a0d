import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeTestFolder } from './test-folder.js';

const root = join(__dirname, '../..');

/** Where the templates stand in a project. */
export const templateFolder = 'tools/installed/my-tool';

/**
 * A folder that is laid out as this project is for whoever installs a tool: with the project's own package.json files
 * above `tools/installed/my-tool/tool.py`, `tool.js` and `tool.sh`.
 * @returns its path; whoever asked for it removes it
 */
export function makeTemplateProject(): string {
  const project = makeTestFolder();
  cpSync(join(root, 'test/fixtures/plain-templates'), project, { recursive: true });
  for (const file of ['package.json', 'tools/package.json'])
    if (existsSync(join(root, file))) cpSync(join(root, file), join(project, file));
  return project;
}
