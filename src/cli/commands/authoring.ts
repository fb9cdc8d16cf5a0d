import { spawnSync, type StdioOptions } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import {
  registerCustomTool,
  registerToolBundle,
  replaceToolBundle,
  tryCustomTool,
  tryToolBundle,
  updateCustomTool,
} from '../../../client/sdk.gen.js';
import type { CustomToolView } from '../../../client/types.gen.js';
import { projectRoot } from '../../base/common/project.js';
import { ask, type Session } from '../api.js';
import { CliError, codeOf, exit, withHint } from '../output.js';
import { type Bundle, bundleAt, hasManifest, packBundle, toolAt, toolNamePattern } from '../tool-source.js';
import { printTool } from './tools.js';

/** The name of a dry run that asks a tool for its own name. */
const placeholderName = 'unnamed';

/** Options of `tool register`. */
interface RegisterOptions {
  readonly name?: string;
  readonly update?: boolean;
  /** The server runs the program at its present path, so it must see the same disk. */
  readonly inPlace?: boolean;
}

/** Uploads a tool's files, or registers only its command if it has no files or stays in place. */
export async function register(session: Session, path: string, options: RegisterOptions): Promise<void> {
  const name = options.name ?? (await reportedName(session, path, options));
  const bundle = options.inPlace ? undefined : bundleAt(path, name);
  const requests = bundle ? await uploadRequests(session, bundle) : commandRequests(session, path, name);
  let tool: CustomToolView;
  try {
    tool = await requests.create();
  } catch (error) {
    if (codeOf(error) !== 'conflict') throw error;
    if (!options.update) throw withHint(error as CliError, '--update changes the existing tool');
    tool = await requests.change();
  }
  printTool(session.out, tool);
}

/** The name that a program reports in a dry run; undefined if it has a tool.json, or the name is not valid. */
async function reportedName(
  { client }: Session,
  path: string,
  { inPlace }: RegisterOptions,
): Promise<string | undefined> {
  if (hasManifest(path)) return undefined;
  const bundle = inPlace ? undefined : bundleAt(path, placeholderName);
  const dryRun = bundle
    ? tryToolBundle({ client, path: { name: placeholderName }, body: await packBundle(bundle) })
    : tryCustomTool({ client, body: toolAt(path, placeholderName) });
  const { name } = (await ask(dryRun)).handshake;
  return typeof name === 'string' && toolNamePattern.test(name) ? name : undefined;
}

/** Requests of a registration. */
interface Requests {
  /** Creates the tool. @throws CliError `conflict` if it exists */
  create(): Promise<CustomToolView>;
  /** Changes the existing tool. */
  change(): Promise<CustomToolView>;
}

/** Requests that upload the tool's files. */
async function uploadRequests({ client }: Session, bundle: Bundle): Promise<Requests> {
  const body = await packBundle(bundle);
  const path = { name: bundle.manifest.name };
  return {
    create: () => ask(registerToolBundle({ client, path, body })),
    change: () => ask(replaceToolBundle({ client, path, body })),
  };
}

/** Requests that only name the tool's command or URL. */
function commandRequests({ client }: Session, path: string, newName?: string): Requests {
  const tool = toolAt(path, newName);
  const { name, ...changes } = tool;
  return {
    create: () => ask(registerCustomTool({ client, body: tool })),
    change: () => ask(updateCustomTool({ client, path: { name }, body: changes })),
  };
}

/** Keeps stdout free for the command's answer. */
const toStderr: StdioOptions = ['ignore', 2, 2];

/** Commands that install the packages that a file names, without running their code. */
const installers = [
  { file: 'package.json', command: 'npm ci --ignore-scripts --omit=dev' },
  {
    file: 'requirements.txt',
    command: 'python3 -m pip install --only-binary=:all: --target site-packages -r requirements.txt',
  },
];

/** Installs the packages of a tool into its folder, so that its bundle contains them. */
export function installPackages({ out }: Session, folder: string): void {
  const installing = installers.filter(({ file }) => existsSync(join(folder, file)));
  if (installing.length === 0)
    throw new CliError(`${folder} has neither package.json nor requirements.txt`, exit.usage);
  for (const { command } of installing) {
    out.note(`$ ${command}`);
    const [program = '', ...args] = command.split(' ');
    const { status, error } = spawnSync(program, args, { cwd: folder, stdio: toStderr });
    if (error) throw new CliError(`${program} does not start: ${error.message}`);
    if (status !== 0) throw new CliError(`${program} ended with exit code ${status}`);
  }
  out.answer(
    { folder, installed: installing.map(({ file }) => file) },
    () => `upload it:  toolkeeper tool register ${folder}`,
  );
}

/** Creates a folder with a tool from a template, with its README and a test. */
export function createFromTemplate(
  { out }: Session,
  path: string,
  { template }: { readonly template: string },
): void {
  const folder = resolve(path);
  const name = basename(folder);
  if (!toolNamePattern.test(name))
    throw new CliError(
      `"${name}" is no name for a tool: letters, digits, _ and -; a letter first`,
      exit.usage,
    );
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new CliError(`${folder} exists and is not empty`, exit.usage);
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
