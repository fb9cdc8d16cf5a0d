import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { manifest } from '../common/project.js';

/*
 * The commands and their options. What a command does is loaded when it is run: `--help` is answered, and words are
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
  addTools(program);
  addPlaybooks(program);
  addKeys(program);
  addServer(program);
  return program;
}

const session = async (command: Command) => (await import('./api.js')).sessionOf(command);
const surroundings = async (command: Command) => (await import('./api.js')).surroundingsOf(command);
const output = async (command: Command) => (await import('./api.js')).outputOf(command);
const tools = () => import('./commands/tools.js');
const calls = () => import('./commands/calls.js');
const projects = () => import('./commands/projects.js');
const keys = () => import('./commands/keys.js');
const playbooks = () => import('./commands/playbooks.js');

function whole(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

const nameOfTool = (): Argument => new Argument('<name>', 'a tool');
const nameOfCustomTool = (): Argument => new Argument('<name>', 'a custom tool');
const inputOfCall = (): Argument =>
  new Argument('[input]', 'a JSON object, @file, or - for stdin').default('{}');

function addTools(program: Command): void {
  const tool = program.command('tool').description('list, make, register, try and watch tools');
  tool
    .command('list')
    .description('all tools, built-in and custom, with their state')
    .argument('[words]', 'only those that have them in name, description or tags')
    .action(async (words: string | undefined, _: unknown, command: Command) =>
      (await tools()).list(await session(command), words),
    );
  addMaking(tool);
  addCalling(tool);
  addKeeping(tool);
}

function addMaking(tool: Command): void {
  tool
    .command('create')
    .description('write a tool to start from, with its test and README')
    .argument('<folder>', 'where; its last part is the name')
    .addOption(
      new Option('-t, --template <language>', 'what it is written in')
        .choices(['python', 'node', 'bash'])
        .default('python'),
    )
    .action(async (folder: string, { template }: { template: 'python' }, command: Command) =>
      (await projects()).create(await output(command), folder, template),
    );
  tool
    .command('dev')
    .description('run a tool without a server, show what is said, start it anew when a file changes')
    .argument('[path]', 'its folder, tool.json or program', '.')
    .action(async (path: string, _: unknown, command: Command) => {
      const { Dev } = await import('./dev/dev.js');
      await new Dev(path, (await surroundings(command)).environment, await output(command)).run();
    });
  tool
    .command('register')
    .description('make it callable: its files are uploaded')
    .argument('<path>', 'its folder, tool.json or program')
    .option('--name <name>', 'in place of the one in tool.json, or that the program says')
    .option('--update', 'change the tool that has this name')
    .option('--in-place', 'upload nothing: the server runs it where it stands, and must see the same disk')
    .action(async (path: string, options: object, command: Command) =>
      (await projects()).register(await session(command), path, options),
    );
  tool
    .command('unregister')
    .description('remove it; its metrics stay')
    .addArgument(nameOfCustomTool())
    .action(async (name: string, _: unknown, command: Command) =>
      (await tools()).unregister(await session(command), name),
    );
}

function addCalling(tool: Command): void {
  tool
    .command('call')
    .description('call it as an agent does; 1 where it did not succeed')
    .addArgument(nameOfTool())
    .addArgument(inputOfCall())
    .option('--investigation <id>', 'whose budget pays')
    .option('--timeout <ms>', 'how long to wait', whole)
    .option('--idempotency-key <key>', 'the same key never runs it twice')
    .action(async (name: string, input: string, options: object, command: Command) =>
      (await calls()).call(await session(command), name, input, options),
    );
  tool
    .command('test')
    .description('try it, also where it is disabled: neither budget nor health hears of it')
    .addArgument(nameOfCustomTool())
    .addArgument(inputOfCall())
    .action(async (name: string, input: string, _: unknown, command: Command) =>
      (await calls()).test(await session(command), name, input),
    );
  tool
    .command('health')
    .description('its processes, grade and circuit; 1 where it is not healthy')
    .addArgument(nameOfTool())
    .action(async (name: string, _: unknown, command: Command) =>
      (await tools()).health(await session(command), name),
    );
  tool
    .command('logs')
    .description('what it wrote to stderr, and what happened to its processes')
    .addArgument(nameOfCustomTool())
    .option('-n, --limit <lines>', 'the latest so many', whole, 50)
    .option('-f, --follow', 'and those that come')
    .action(async (name: string, options: { limit: number }, command: Command) =>
      (await calls()).logs(await session(command), name, options),
    );
}

function addKeeping(tool: Command): void {
  tool
    .command('enable')
    .description('let it be called, and try one that failed anew')
    .addArgument(nameOfCustomTool())
    .action(async (name: string, _: unknown, command: Command) =>
      (await tools()).enable(await session(command), name),
    );
  tool
    .command('disable')
    .description('take it out of use, and keep it')
    .addArgument(nameOfCustomTool())
    .action(async (name: string, _: unknown, command: Command) =>
      (await tools()).disable(await session(command), name),
    );
  tool
    .command('revisions')
    .description('its changes, newest first')
    .addArgument(nameOfCustomTool())
    .action(async (name: string, _: unknown, command: Command) =>
      (await tools()).revisions(await session(command), name),
    );
  tool
    .command('rollback')
    .description('bring an earlier revision back, as a new one')
    .addArgument(nameOfCustomTool())
    .addArgument(new Argument('<revision>', 'its number').argParser(whole))
    .action(async (name: string, revision: number, _: unknown, command: Command) =>
      (await tools()).rollback(await session(command), name, revision),
    );
}

function addPlaybooks(program: Command): void {
  const playbook = program.command('playbook').description('fill and search the catalogue of playbooks');
  playbook
    .command('import')
    .description('store playbooks of YAML or JSON; of each file all or none')
    .argument('<files...>', 'files, or folders with such files')
    .action(async (files: string[], _: unknown, command: Command) =>
      (await playbooks()).importFiles(await session(command), files),
    );
  playbook
    .command('search')
    .description('what an agent would find')
    .argument('<words...>', 'the incident')
    .option('-n, --limit <number>', 'at most so many', whole, 5)
    .option('--threshold <share>', 'the least confidence, 0 to 1', '0.7')
    .action(async (words: string[], options: { limit: number; threshold: string }, command: Command) =>
      (await playbooks()).search(await session(command), words.join(' '), options),
    );
}

function addKeys(program: Command): void {
  const key = program.command('key').description('make, list and revoke API keys');
  key
    .command('create')
    .description('make a key: it is printed, this once')
    .argument('<name>', 'for people')
    .option('--scope <scopes...>', 'what it may do', ['tools:call'])
    .option('--tool <names...>', 'the tools that it may see and call; a * at the end for more')
    .option('--project <names...>', 'the projects that its calls may name')
    .option('--rate <rate>', 'calls that a server lets it make, such as 100/minute')
    .option('--expires <time>', 'such as 2099-01-01T00:00:00Z')
    .option('--owner <name>', 'whom its calls are recorded for')
    .action(async (name: string, options: { scope: string[] }, command: Command) =>
      (await keys()).create(await session(command), name, options),
    );
  key
    .command('list')
    .description('all keys, newest first, without their secrets')
    .action(async (_: unknown, command: Command) => (await keys()).list(await session(command)));
  key
    .command('revoke')
    .description('for good')
    .argument('<id>', 'as key list shows it')
    .action(async (id: string, _: unknown, command: Command) =>
      (await keys()).revoke(await session(command), id),
    );
}

function addServer(program: Command): void {
  program
    .command('start')
    .description('run the server')
    .action(async (_: unknown, command: Command) => {
      const { start } = await import('./server/start-server.js');
      process.exitCode = await start(await surroundings(command));
    });
  program
    .command('mcp')
    .description('MCP over stdin and stdout, for desktop clients; starts a server where none runs')
    .action(async (_: unknown, command: Command) =>
      (await import('./mcp/relay.js')).mcp(await surroundings(command)),
    );
  program
    .command('doctor')
    .description('look at what a server needs, and say how to mend what is missing')
    .action(async (_: unknown, command: Command) =>
      (await import('./doctor/doctor.js')).doctor(await surroundings(command), await output(command)),
    );
  program
    .command('completion')
    .description('a script that completes words in a shell')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      '\nbash: source <(toolkeeper completion bash)\nfish: toolkeeper completion fish | source',
    )
    .action(async (shell: 'bash', _: unknown, command: Command) =>
      (await output(command)).line((await import('./completion.js')).scriptFor(shell)),
    );
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: string[], _: unknown, command: Command) => {
      const { candidates } = await import('./completion.js');
      for (const word of await candidates(program, words, await surroundings(command)))
        (await output(command)).line(word);
    });
}
