import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { registerCustomTool, updateCustomTool } from '../../client/sdk.gen.js';
import { ask } from '../api.js';
import { CliError, codeOf, exit, withHint } from '../exit.js';
import type { Output } from '../output.js';
import { projectAt, toolName } from '../project.js';
import type { Session } from '../session.js';
import { packageRoot } from '../surroundings.js';
import { told } from './tools.js';

export const templates = ['python', 'node', 'bash'] as const;
export type Template = (typeof templates)[number];

export interface RegisterOptions {
  readonly name?: string;
  readonly update?: boolean;
}

/** The server runs the program where it stands: it must see the same disk. */
export async function register(
  { client, out }: Session,
  path: string,
  options: RegisterOptions,
): Promise<void> {
  const project = projectAt(path, options.name);
  try {
    told(out, await ask(registerCustomTool({ client, body: project })));
  } catch (error) {
    if (codeOf(error) !== 'conflict') throw error;
    if (!options.update) throw withHint(error as CliError, '--update changes the tool that is there');
    const { name, ...changes } = project;
    told(out, await ask(updateCustomTool({ client, path: { name }, body: changes })));
  }
}

/** Writes a tool to start from, with its README and a test. */
export function create(out: Output, path: string, template: Template): void {
  const folder = resolve(path);
  const name = basename(folder);
  if (!toolName.test(name))
    throw new CliError(
      `"${name}" is no name for a tool: letters, digits, _ and -; a letter first`,
      exit.usage,
    );
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new CliError(`${folder} is there already, and not empty`, exit.usage);
  const source = join(packageRoot(), 'tools', 'templates', template);
  const entries = readdirSync(source, { withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map((entry) => entry.name);
  mkdirSync(folder, { recursive: true });
  for (const file of files) {
    const text = readFileSync(join(source, file), 'utf8');
    writeFileSync(join(folder, file), text.replaceAll(`my_${template}_tool`, name));
  }
  const here = relative(process.cwd(), folder) || '.';
  out.answer({ name, folder, template, files }, () =>
    [
      `${here}: ${files.join(', ')}`,
      `  its README says what to change, and how to run its test`,
      `  try it:       toolkeeper tool dev ${here}`,
      `  register it:  toolkeeper tool register ${here}`,
    ].join('\n'),
  );
}
