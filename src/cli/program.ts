import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { manifest } from '../base/common/project.js';
import type { Session } from './api.js';

/*
 * The commands and their options. The code of a command is loaded when it is run: `--help` is answered, and words are
 * completed, without it.
 */

export function buildProgram(): Command {
  const program = new Command('toolkeeper')
    .description('Toolkeeper runs the tools that AI agents call.')
    .version(manifest().version)
    .option('--url <url>', 'the server; else TOOLKEEPER_URL, else the one that runs here')
    .option('--json', 'answer with JSON')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('--help says more')
    .exitOverride();
  addTools(program.command('tool').description('list, make, register, try and watch tools'));
  addPlaybooks(program.command('playbook').description('fill and search the catalogue of playbooks'));
  addKeys(program.command('key').description('make, list and revoke API keys'));
  addServer(program);
  return program;
}

/** Gets the arguments of the command, then its options. */
type Run = (session: Session, ...given: never[]) => unknown;
type Load = () => Promise<Run>;

/** Adds a command. The code that runs it is what `load` resolves to. */
function add(
  parent: Command,
  name: string,
  description: string,
  load: Load,
  ...parts: (Argument | Option)[]
): Command {
  const command = parent.command(name).description(description);
  for (const part of parts)
    if (part instanceof Argument) command.addArgument(part);
    else command.addOption(part);
  return command.action(async (...given: unknown[]) => {
    const { sessionOf } = await import('./api.js');
    await (
      await load()
    )(sessionOf(command), ...(given.slice(0, -1) as never[]));
  });
}

const tools = () => import('./commands/tools.js');
const calls = () => import('./commands/calls.js');
const projects = () => import('./commands/projects.js');
const keys = () => import('./commands/keys.js');
const playbooks = () => import('./commands/playbooks.js');

function whole(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

const argument = (name: string, description?: string): Argument => new Argument(name, description);
const option = (flags: string, description: string): Option => new Option(flags, description);

const path = 'its folder, tool.json or program';
const tool = (): Argument => argument('<name>', 'a tool');
const custom = (): Argument => argument('<name>', 'a custom tool');
const input = (): Argument => argument('[input]', 'a JSON object, @file, or - for stdin').default('{}');

function addTools(group: Command): void {
  add(
    group,
    'list',
    'all tools, built-in and custom, with their state',
    async () => (await tools()).list,
    argument('[words]', 'only those that have them in name, description or tags'),
  );
  add(
    group,
    'create',
    'write a tool to start from, with its test and README',
    async () => (await projects()).create,
    argument('<folder>', 'where; its last part is the name'),
    option('-t, --template <language>', 'what it is written in')
      .choices(['python', 'node', 'bash'])
      .default('python'),
  );
  add(
    group,
    'dev',
    'run a tool without a server, show its messages, restart it when a file changes',
    async () => (await import('./dev/dev.js')).dev,
    argument('[path]', path).default('.'),
  );
  add(
    group,
    'bundle',
    'install the packages that a tool names into its folder, on this machine',
    async () => (await projects()).bundle,
    argument('[folder]', 'with package.json or requirements.txt').default('.'),
  );
  add(
    group,
    'register',
    'make it callable: its files are uploaded',
    async () => (await projects()).register,
    argument('<path>', path),
    option('--name <name>', 'in place of the one in tool.json, or that the program says'),
    option('--update', 'change the tool that has this name'),
    option('--in-place', 'upload nothing: the server runs it where it stands, and must see the same disk'),
  );
  const change = (name: 'unregister' | 'enable' | 'disable' | 'revisions', description: string): Command =>
    add(group, name, description, async () => (await tools())[name], custom());
  change('unregister', 'remove it; its metrics stay');
  addCalling(group);
  change('enable', 'let it be called; try again to start one that failed');
  change('disable', 'take it out of use, and keep it');
  change('revisions', 'its changes, newest first');
  add(
    group,
    'rollback',
    'bring an earlier revision back, as a new one',
    async () => (await tools()).rollback,
    custom(),
    argument('<revision>', 'its number').argParser(whole),
  );
}

function addCalling(group: Command): void {
  add(
    group,
    'call',
    'call it as an agent does; 1 where it did not succeed',
    async () => (await calls()).call,
    tool(),
    input(),
    option('--investigation <id>', 'whose budget pays'),
    option('--timeout <ms>', 'how long to wait').argParser(whole),
    option('--idempotency-key <key>', 'the same key never runs it twice'),
  );
  add(
    group,
    'test',
    'make a test call, even if it is disabled: no budget, no effect on health',
    async () => (await calls()).test,
    custom(),
    input(),
  );
  add(
    group,
    'health',
    'its processes, grade and circuit; 1 where it is not healthy',
    async () => (await tools()).health,
    tool(),
  );
  add(
    group,
    'logs',
    'what it wrote to stderr, and what happened to its processes',
    async () => (await calls()).logs,
    custom(),
    option('-n, --limit <lines>', 'the latest so many').argParser(whole).default(50),
    option('-f, --follow', 'and those that come'),
  );
}

function addPlaybooks(group: Command): void {
  add(
    group,
    'import',
    'store playbooks of YAML or JSON; of each file all or none',
    async () => (await playbooks()).importFiles,
    argument('<files...>', 'files, or folders with such files'),
  );
  add(
    group,
    'search',
    'what an agent would find',
    async () => (await playbooks()).search,
    argument('<words...>', 'the incident'),
    option('-n, --limit <number>', 'at most so many').argParser(whole).default(5),
    option('--threshold <share>', 'the least confidence, 0 to 1').default('0.7'),
  );
}

function addKeys(group: Command): void {
  add(
    group,
    'create',
    'make a key: it is printed, this once',
    async () => (await keys()).create,
    argument('<name>', 'for people'),
    option('--scope <scopes...>', 'what it may do').default(['tools:call']),
    option('--tool <names...>', 'the tools that it may see and call; a * at the end for more'),
    option('--project <names...>', 'the projects that its calls may name'),
    option('--rate <rate>', 'calls that a server lets it make, such as 100/minute'),
    option('--expires <time>', 'such as 2099-01-01T00:00:00Z'),
    option('--owner <name>', 'whom its calls are recorded for'),
  );
  add(group, 'list', 'all keys, newest first, without their secrets', async () => (await keys()).list);
  add(
    group,
    'revoke',
    'for good',
    async () => (await keys()).revoke,
    argument('<id>', 'as key list shows it'),
  );
}

function addServer(program: Command): void {
  add(program, 'start', 'run the server', async () => (await import('./server/local-server.js')).start);
  add(
    program,
    'mcp',
    'MCP over stdin and stdout, for desktop clients; starts a server where none runs',
    async () => (await import('./mcp/relay.js')).mcp,
  );
  add(
    program,
    'doctor',
    'look at what a server needs, and say how to mend what is missing',
    async () => (await import('./doctor/doctor.js')).doctor,
    option('--token <->', 'show instead what the access token on stdin opens, and why'),
  );
  add(
    program,
    'backup',
    'write the database of the running server to a file',
    async () => (await import('./backup/backup.js')).backup,
    argument('<file>', 'a .tgz that does not exist yet'),
    option('--with-key', "the secrets' key with it: who has the file can read all secrets"),
  );
  add(
    program,
    'restore',
    'make a data directory of a backup, in an empty TOOLKEEPER_DATA_DIR',
    async () => (await import('./backup/restore.js')).restore,
    argument('<file>', 'what backup wrote'),
  );
  add(
    program,
    'completion',
    'a script that completes words in a shell',
    async () => (await import('./completion.js')).completion,
    argument('<shell>').choices(['bash', 'zsh', 'fish']),
  ).addHelpText(
    'after',
    '\nbash: source <(toolkeeper completion bash)\nfish: toolkeeper completion fish | source',
  );
  const complete: Load = async () => (await import('./completion.js')).complete(program);
  program.addCommand(add(new Command(), 'complete', '', complete, argument('[words...]')), { hidden: true });
}
