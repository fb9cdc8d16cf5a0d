import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { manifest } from '../base/common/project.js';
import type { Session } from './api.js';

/** All commands and their options. A command's code is loaded when it runs, so that help and completion are fast. */
export function buildProgram(): Command {
  const program = new Command('toolkeeper')
    .description('Toolkeeper runs the tools that AI agents call.')
    .version(manifest().version)
    .option('--url <url>', 'the server; default: TOOLKEEPER_URL, else the one on this machine')
    .option('--json', 'answer with JSON')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('use --help for more')
    .exitOverride();
  addTools(program.command('tool').description('list, make, register, try and watch tools'));
  addPlaybooks(program.command('playbook').description('fill and search the catalogue of playbooks'));
  addKeys(program.command('key').description('make, list and revoke API keys'));
  addServer(program);
  return program;
}

/** The code of a command. Receives its arguments in order, then all its options as one object. */
type Run = (session: Session, ...given: never[]) => unknown;
/** Loads the code of a command. */
type Load = () => Promise<Run>;

/** Adds a command. @param load loads its code when it runs @param parts its arguments and options */
function addCommand(
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
    const run = await load();
    // Commander's last argument is the command itself.
    await run(sessionOf(command), ...(given.slice(0, -1) as never[]));
  });
}

// Modules of commands, loaded when needed.
const tools = () => import('./commands/tools.js');
const calls = () => import('./commands/calls.js');
const authoring = () => import('./commands/authoring.js');
const keys = () => import('./commands/keys.js');
const playbooks = () => import('./commands/playbooks.js');
const localServer = () => import('./server/local-server.js');

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

const argument = (name: string, description?: string): Argument => new Argument(name, description);
const option = (flags: string, description: string): Option => new Option(flags, description);

// Arguments that several commands have.
const pathHelp = 'its folder, tool.json or program';
const anyTool = (): Argument => argument('<name>', 'a tool');
const customTool = (): Argument => argument('<name>', 'a custom tool');
const toolInput = (): Argument => argument('[input]', 'a JSON object, @file, or - for stdin').default('{}');

function addTools(group: Command): void {
  addCommand(
    group,
    'list',
    'all tools, built-in and custom, with their state',
    async () => (await tools()).list,
    argument('[words]', 'words of the name, the description or the tags'),
  );
  addCommand(
    group,
    'create',
    'write a tool to start from, with its test and README',
    async () => (await authoring()).createFromTemplate,
    argument('<folder>', 'the folder to create; its last part is the name of the tool'),
    option('-t, --template <language>', 'its language').choices(['python', 'node', 'bash']).default('python'),
  );
  addCommand(
    group,
    'dev',
    'run a tool without a server, show its messages, restart it when a file changes',
    async () => (await import('./dev/dev.js')).dev,
    argument('[path]', pathHelp).default('.'),
  );
  addCommand(
    group,
    'bundle',
    'install the packages that a tool names into its folder, on this machine',
    async () => (await authoring()).installPackages,
    argument('[folder]', 'with package.json or requirements.txt').default('.'),
  );
  addCommand(
    group,
    'register',
    'upload a tool and make it callable',
    async () => (await authoring()).register,
    argument('<path>', pathHelp),
    option('--name <name>', 'another name than that of tool.json or the program'),
    option('--update', 'change the existing tool of this name'),
    option('--in-place', 'upload nothing: the server, which must see the same disk, runs the files here'),
  );
  const addForCustomTool = (
    name: 'unregister' | 'enable' | 'disable' | 'revisions',
    description: string,
  ): Command => addCommand(group, name, description, async () => (await tools())[name], customTool());
  addForCustomTool('unregister', 'remove a tool; its metrics stay');
  addCalling(group);
  addForCustomTool('enable', 'make a tool callable again; retry the start of one that failed');
  addForCustomTool('disable', 'make a tool uncallable, but keep it');
  addForCustomTool('revisions', 'list the revisions of a tool, newest first');
  addCommand(
    group,
    'rollback',
    'restore an earlier revision, as a new one',
    async () => (await tools()).rollback,
    customTool(),
    argument('<revision>', 'its number').argParser(wholeNumber),
  );
}

/** Commands that call and watch tools. */
function addCalling(group: Command): void {
  addCommand(
    group,
    'call',
    'call a tool as an agent does; exit code 1 if the call does not succeed',
    async () => (await calls()).call,
    anyTool(),
    toolInput(),
    option('--investigation <id>', 'the investigation whose budget is used'),
    option('--timeout <ms>', 'the max time of the call').argParser(wholeNumber),
    option('--idempotency-key <key>', 'the same key never runs it twice'),
  );
  addCommand(
    group,
    'test',
    'make a test call, even if it is disabled: no budget, no effect on health',
    async () => (await calls()).test,
    customTool(),
    toolInput(),
  );
  addCommand(
    group,
    'health',
    'show processes, grade and circuit of a tool; exit code 1 if it is not healthy',
    async () => (await tools()).health,
    anyTool(),
  );
  addCommand(
    group,
    'logs',
    'show the log of a tool: its stderr and the events of its processes',
    async () => (await calls()).logs,
    customTool(),
    option('-n, --limit <lines>', 'the number of latest lines').argParser(wholeNumber).default(50),
    option('-f, --follow', 'also show new lines as they come'),
  );
}

function addPlaybooks(group: Command): void {
  addCommand(
    group,
    'import',
    'store playbooks from YAML or JSON; all of a file or none',
    async () => (await playbooks()).importFiles,
    argument('<files...>', 'files, or folders with such files'),
  );
  addCommand(
    group,
    'search',
    'search playbooks as an agent does',
    async () => (await playbooks()).search,
    argument('<words...>', 'the incident'),
    option('-n, --limit <number>', 'the max number of playbooks').argParser(wholeNumber).default(5),
    option('--threshold <share>', 'the min confidence, 0 to 1').default('0.7'),
  );
}

function addKeys(group: Command): void {
  addCommand(
    group,
    'create',
    'create a key, and print it once',
    async () => (await keys()).create,
    argument('<label>', 'a name for people'),
    option('--scope <scopes...>', 'its scopes').default(['tools:call']),
    option('--tool <names...>', 'the tools that it may see and call; a * at the end for more'),
    option('--project <names...>', 'the projects that its calls may name'),
    option('--rate <rate>', 'max calls per server, such as 100/minute'),
    option('--expires <time>', 'its expiry, such as 2099-01-01T00:00:00Z'),
    option('--owner <name>', 'the user that is recorded for its calls'),
  );
  addCommand(group, 'list', 'all keys, newest first, without their secrets', async () => (await keys()).list);
  addCommand(
    group,
    'revoke',
    'revoke a key for good',
    async () => (await keys()).revoke,
    argument('<id>', 'the id that key list shows'),
  );
}

function addServer(program: Command): void {
  addCommand(program, 'start', 'run the server', async () => (await localServer()).start);
  addCommand(
    program,
    'mcp',
    'MCP over stdin and stdout, for desktop clients; starts a server if none runs',
    async () => (await import('./mcp/relay.js')).mcp,
  );
  addCommand(
    program,
    'doctor',
    'check what a server needs, and how to mend what is missing',
    async () => (await import('./doctor/doctor.js')).doctor,
    option('--token <->', 'instead, check the access token on stdin and show its scopes'),
  );
  addCommand(
    program,
    'backup',
    'write the database of the running server to a file',
    async () => (await import('./backup/backup.js')).backup,
    argument('<file>', 'a .tgz that does not exist yet'),
    option('--with-key', 'also the encryption key: anybody with the file can read all secrets'),
  );
  addCommand(
    program,
    'restore',
    'restore a backup into an empty TOOLKEEPER_DATA_DIR',
    async () => (await import('./backup/restore.js')).restore,
    argument('<file>', 'the file that backup wrote'),
  );
  addCommand(
    program,
    'completion',
    'print a completion script for a shell',
    async () => (await import('./completion.js')).completion,
    argument('<shell>').choices(['bash', 'zsh', 'fish']),
  ).addHelpText(
    'after',
    '\nbash: source <(toolkeeper completion bash)\nfish: toolkeeper completion fish | source',
  );
  const complete: Load = async () => (await import('./completion.js')).complete(program);
  program.addCommand(addCommand(new Command(), 'complete', '', complete, argument('[words...]')), {
    hidden: true,
  });
}
