import { watch } from 'node:fs';
import { createInterface } from 'node:readline';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { CliError, type Output } from '../output.js';
import type { Session } from '../api.js';
import { type Executable, executableAt } from '../project.js';
import { LineFramer } from '../../runtime/process-pool/line-framer.js';

interface Definition {
  readonly name?: string;
  readonly inputSchema?: object;
}

const startTimeoutMs = 10_000;
const defaultTimeoutMs = 30_000;
/** A save may be several writes. */
const settleMs = 150;
const ignored = /(^|\/)(node_modules|__pycache__|\.[^/]*|[^/]*~)($|\/)/;

/**
 * Runs a tool on the desk of its author: each line of JSON from stdin is an input, all that is said is shown, and a
 * changed file restarts it with the last input. Without a server, its limits and its sandbox.
 */
class Dev {
  private tool: ToolProcess | undefined;
  private definition: Definition = {};
  private lastInput: object | undefined;
  private failures = 0;
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly path: string,
    private readonly environment: NodeJS.ProcessEnv,
    private readonly out: Output,
  ) {}

  async run(): Promise<void> {
    const { workingDir } = executableAt(this.path);
    this.inTurn(() => this.start());
    await this.turn;
    const watcher = this.watch(workingDir);
    const lines = createInterface({ input: process.stdin });
    this.out.note('one input a line, such as {"query": "x"}; the end of the input (Ctrl-D) ends');
    for await (const line of lines) if (line.trim() !== '') this.inTurn(() => this.call(line));
    await this.turn;
    watcher.close();
    this.tool?.stop();
    if (this.failures > 0) throw new CliError(`${this.failures} did not succeed`);
  }

  /** One thing after the other: the next call waits for the start, and for the call before it. */
  private inTurn(work: () => Promise<void>): void {
    this.turn = this.turn.then(work).catch((error: unknown) => this.failed((error as Error).message));
  }

  private async start(): Promise<void> {
    this.tool?.stop();
    const project = executableAt(this.path);
    const { PATH, HOME, LANG, TMPDIR } = this.environment;
    const inherited = { PATH, HOME, LANG, TMPDIR };
    const given = Object.entries(inherited).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const show = (mark: string, text: string): void => this.show(mark, text);
    this.tool = new ToolProcess(project, Object.fromEntries(given), {
      sent: (line) => show('→', line),
      received: (line) => show('←', line),
      logged: (line) => show('log', line),
      ended: (why) => show('end', why),
    });
    const params = { protocolVersion: '1.0', supportedVersions: ['1.1', '1.0'] };
    const answer = await this.tool.ask('initialize', params, startTimeoutMs);
    if (!answer?.result) throw new Error('the tool does not start: it must answer "initialize"');
    this.definition = answer.result;
    const { name } = this.definition;
    if (name !== project.name)
      this.show('note', `it says its name is ${name}, tool.json says ${project.name}`);
    await this.tool.ask('health', {}, startTimeoutMs);
  }

  private async call(line: string): Promise<void> {
    const input: unknown = JSON.parse(line);
    if (typeof input !== 'object' || input === null) throw new Error('an input is a JSON object');
    this.lastInput = input;
    await this.execute(input);
  }

  private async execute(input: object): Promise<void> {
    const problem = await this.problemOf(input);
    if (problem) throw new Error(`the server would refuse this input: ${problem}`);
    if (!this.tool?.isRunning) await this.start();
    const { timeoutMs = defaultTimeoutMs, workingDir } = executableAt(this.path);
    const context = { runId: 'dev', executionId: `dev-${Date.now()}`, workingDir, timeout: timeoutMs };
    const answer = await this.tool?.ask('execute', { input, context }, timeoutMs);
    if (answer?.error || answer?.result === undefined) this.failures++;
  }

  /** The first rule of its schema that an input breaks; the server asks the same library. */
  private async problemOf(input: object): Promise<string | undefined> {
    const { Ajv2020 } = await import('ajv/dist/2020.js');
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    const validate = ajv.compile(this.definition.inputSchema ?? {});
    return validate(input) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'input' });
  }

  private watch(folder: string): { close(): void } {
    let timer: NodeJS.Timeout | undefined;
    return watch(folder, { recursive: true }, (_event, file) => {
      if (file === null || ignored.test(file)) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        // A call that hangs is what the change may mend.
        this.tool?.stop();
        this.inTurn(() => this.changed(file));
      }, settleMs);
    });
  }

  private async changed(file: string): Promise<void> {
    this.show('note', `${file} has changed`);
    await this.start();
    if (this.lastInput) await this.execute(this.lastInput);
  }

  private failed(why: string): void {
    this.failures++;
    this.show('error', why);
  }

  private show(mark: string, text: string): void {
    const { out } = this;
    if (out.json) out.line(JSON.stringify({ mark, text }));
    else out.line(`${out.styled(styles[mark] ?? 'dim', mark.padEnd(5))} ${text}`);
  }
}

const styles: Readonly<Record<string, 'cyan' | 'green' | 'red' | 'yellow'>> = {
  '→': 'cyan',
  '←': 'green',
  error: 'red',
  end: 'red',
  note: 'yellow',
};

/** @throws CliError if a call failed, or the tool did not start */
export const dev = ({ surroundings, out }: Session, path: string): Promise<void> =>
  new Dev(path, surroundings.environment, out).run();

/** Receives the messages of a running tool, and its end. */
interface Listener {
  sent(line: string): void;
  received(line: string): void;
  logged(line: string): void;
  /** @param why how it ended, or why it did not start */
  ended(why: string): void;
}

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

const maxLineBytes = 4_194_304;

/** One process of a tool under development: no pool, no sandbox, one request at a time. */
class ToolProcess {
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly waiting = new Map<string, (answer: Answer | undefined) => void>();
  private requests = 0;
  private stopped = false;

  constructor(
    { command, args, workingDir, env }: Executable,
    environment: Readonly<Record<string, string>>,
    private readonly listener: Listener,
  ) {
    const own = Object.fromEntries(
      Object.entries(env ?? {}).map(([name, given]) => [
        name,
        typeof given === 'string' ? given : given.value,
      ]),
    );
    this.child = spawn(command, args, {
      cwd: workingDir,
      env: { ...environment, ...own },
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own group: what it starts ends with it.
      detached: true,
    });
    this.child.stdin.on('error', () => undefined);
    this.child.once('error', ({ message }) => this.end(message));
    this.child.once('exit', (code, signal) => this.end(signal ?? `exit code ${code}`));
    framed(this.child.stdout, (line) => this.take(line));
    framed(this.child.stderr, (line) => listener.logged(line));
  }

  /** @returns undefined if the tool ended, or took longer */
  async ask(method: string, params: object, timeoutMs: number): Promise<Answer | undefined> {
    const id = String(++this.requests);
    const line = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    this.listener.sent(line);
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    this.waiting.set(id, resolve);
    this.child.stdin.write(`${line}\n`);
    const timer = setTimeout(() => {
      this.listener.ended(`no answer within ${timeoutMs} ms`);
      this.stop();
    }, timeoutMs);
    return promise.finally(() => clearTimeout(timer));
  }

  get isRunning(): boolean {
    return !this.stopped;
  }

  /** Kills the process and ignores its further output. */
  stop(): void {
    this.finish();
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  }

  private take(line: string): void {
    this.listener.received(line);
    const { id, ...answer } = parsed(line);
    // The server takes an id as a number, too.
    const resolve = this.waiting.get(String(id));
    if (!resolve) return;
    this.waiting.delete(String(id));
    resolve(answer);
  }

  private end(why: string): void {
    if (!this.stopped) this.listener.ended(why);
    this.finish();
  }

  private finish(): void {
    this.stopped = true;
    for (const resolve of this.waiting.values()) resolve(undefined);
    this.waiting.clear();
  }
}

function parsed(line: string): Answer & { readonly id?: unknown } {
  try {
    return JSON.parse(line) as Answer & { id?: unknown };
  } catch {
    return {};
  }
}

function framed(stream: Readable, each: (line: string) => void): void {
  const framer = new LineFramer(maxLineBytes, {
    line: (text) => {
      if (text.trim() !== '') each(text);
      return true;
    },
    overflow: () => each(`(a line of more than ${maxLineBytes} bytes)`),
  });
  stream.on('data', (chunk: Buffer) => framer.push(chunk));
  stream.on('end', () => framer.end());
}
