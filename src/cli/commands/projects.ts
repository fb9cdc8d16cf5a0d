import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import {
  getToolBundle,
  registerCustomTool,
  registerToolBundle,
  replaceToolBundle,
  updateCustomTool,
} from '../../client/sdk.gen.js';
import type { CustomToolView } from '../../client/types.gen.js';
import { projectRoot } from '../../common/project.js';
import { ask } from '../api.js';
import { type Bundle, bundleAt, packed } from '../bundle.js';
import { CliError, codeOf, exit, withHint } from '../exit.js';
import type { Output } from '../output.js';
import { projectAt, toolName } from '../project.js';
import type { Session } from '../session.js';
import { told } from './tools.js';

export type Template = 'python' | 'node' | 'bash';

export interface RegisterOptions {
  readonly name?: string;
  readonly update?: boolean;
  /** The server runs the program where it stands: it must see the same disk. */
  readonly inPlace?: boolean;
}

/** Uploads a tool's files; of one that has none, or stays where it is, what runs it is told. */
export async function register(session: Session, path: string, options: RegisterOptions): Promise<void> {
  const bundle = options.inPlace ? undefined : bundleAt(path, options.name);
  const ways = bundle ? await uploading(session, bundle) : naming(session, path, options.name);
  let tool: CustomToolView;
  try {
    tool = await ways.make();
  } catch (error) {
    if (codeOf(error) !== 'conflict') throw error;
    if (!options.update) throw withHint(error as CliError, '--update changes the tool that is there');
    tool = await ways.change();
  }
  if (bundle) await tellInstallation(session, tool.name);
  told(session.out, tool);
}

/** How a tool is made, and how one that is there is changed. */
interface Ways {
  make(): Promise<CustomToolView>;
  change(): Promise<CustomToolView>;
}

async function uploading({ client }: Session, bundle: Bundle): Promise<Ways> {
  const body = await packed(bundle);
  const path = { name: bundle.manifest.name };
  return {
    make: () => ask(registerToolBundle({ client, path, body })),
    change: () => ask(replaceToolBundle({ client, path, body })),
  };
}

function naming({ client }: Session, path: string, named?: string): Ways {
  const project = projectAt(path, named);
  const { name, ...changes } = project;
  return {
    make: () => ask(registerCustomTool({ client, body: project })),
    change: () => ask(updateCustomTool({ client, path: { name }, body: changes })),
  };
}

async function tellInstallation({ client, out }: Session, name: string): Promise<void> {
  const { installLog } = await ask(getToolBundle({ client, path: { name } }));
  if (installLog !== null) out.note(installLog.trimEnd());
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
  const source = join(projectRoot(), 'tools', 'templates', template);
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
