import { watch } from 'node:fs';
import { createInterface } from 'node:readline';
import { CliError, type Output } from '../output.js';
import type { Session } from '../api.js';
import { localToolAt } from '../tool-source.js';
import { givenUpRunning, errorLine } from '../../runtime/process-pool/failure-messages.js';
import { launch, type Launcher } from '../../runtime/process-pool/launcher.js';
import { LineFramer } from '../../runtime/process-pool/line-framer.js';
import { PoolProcess, type ProcessEvent } from '../../runtime/process-pool/pool-process.js';
import type { Handshake, PoolFailureReason, Reply } from '../../runtime/process-pool/pool.types.js';
import {
  type DevLaunches,
  type Launch,
  openDevLaunches,
} from '../../runtime/custom-tools/launch/dev-launches.js';

/** Timeout for `health`. A tool may ignore this request: it only shows the author the answer, if any. */
const healthMs = 500;
/** Longer messages of the tool are not shown. */
const maxShownBytes = 4_194_304;
/** Delay of a restart after a change, because a save may be several writes. */
const settleMs = 150;
/** Files whose changes do not restart the tool. */
const ignored = /(^|\/)(node_modules|__pycache__|\.[^/]*|[^/]*~)($|\/)/;

/**
 * Runs a tool on its author's machine, without a server but in its sandbox. Each line of stdin is an input; all messages
 * are shown; a changed file restarts the tool and repeats the last input.
 */
class DevSession {
  private tool: ToolProcess | undefined;
  /** The tool's answer to the handshake of its start. */
  private definition: Handshake = {};
  private timeoutMs = 0;
  private lastInput: object | undefined;
  /** Number of failed calls and starts. */
  private failures = 0;
  /** Settles when all queued work is done. */
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly path: string,
    private readonly launches: DevLaunches,
    private readonly out: Output,
  ) {}

  /** Serves stdin until it ends. @throws CliError if a call or a start failed */
  async run(): Promise<void> {
    const { workingDir } = localToolAt(this.path);
    this.enqueue(() => this.start());
    await this.queue;
    const watcher = this.watch(workingDir);
    const lines = createInterface({ input: process.stdin });
    this.out.note('one input a line, such as {"query": "x"}; the end of the input (Ctrl-D) ends');
    for await (const line of lines) if (line.trim() !== '') this.enqueue(() => this.call(line));
    await this.queue;
    watcher.close();
    await this.tool?.stop();
    if (this.failures > 0) throw new CliError(`${this.failures} calls or starts failed`);
  }

  /** Runs work in order: a call waits for the start and for the call before it. */
  private enqueue(work: () => Promise<void>): void {
    this.queue = this.queue
      .then(work)
      .catch((error: unknown) => this.reportFailure((error as Error).message));
  }

  /** Starts the tool, in place of the running process. */
  private async start(): Promise<void> {
    await this.tool?.stop();
    const source = localToolAt(this.path);
    const prepared = await this.launches.prepare(source);
    this.timeoutMs = prepared.timeoutMs;
    const { tier, notEnforced } = prepared.effective;
    if (!this.tool)
      this.out.note(`sandbox: tier ${tier}, not enforced: ${notEnforced.join(', ') || 'nothing'}`);
    this.tool = new ToolProcess(prepared, (kind, text) => this.show(kind, text));
    this.definition = await this.tool.started.promise;
    const { name } = this.definition;
    if (name !== source.name) this.show('note', `it says its name is ${name}, tool.json says ${source.name}`);
    await this.tool.ask('health', {}, healthMs);
  }

  /** Executes the input in a line of stdin, and remembers it for restarts. */
  private async call(line: string): Promise<void> {
    const input: unknown = JSON.parse(line);
    if (typeof input !== 'object' || input === null || Array.isArray(input))
      throw new Error('an input is a JSON object');
    this.lastInput = input;
    await this.execute(input);
  }

  /** Executes an input, if it is valid, and shows the answer. */
  private async execute(input: object): Promise<void> {
    const problem = await this.schemaErrorsOf(input);
    if (problem !== undefined) throw new Error(`the server would refuse this input: ${problem}`);
    if (!this.tool?.process.usable) await this.start();
    const { workingDir } = localToolAt(this.path);
    const context = { runId: 'dev', executionId: `dev-${Date.now()}`, workingDir, timeout: this.timeoutMs };
    const answer = await this.tool?.ask('execute', { input, context }, this.timeoutMs);
    if (!answer || 'error' in answer) this.failures++;
  }

  /** The rules of the tool's schema that an input breaks; undefined if it is valid. */
  private async schemaErrorsOf(input: object): Promise<string | undefined> {
    const { Ajv2020 } = await import('ajv/dist/2020.js');
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    const validate = ajv.compile(this.definition.inputSchema ?? {});
    return validate(input) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'input' });
  }

  /** Restarts the tool when a file of the folder changes. */
  private watch(folder: string): { close(): void } {
    let timer: NodeJS.Timeout | undefined;
    return watch(folder, { recursive: true }, (_event, file) => {
      if (file === null || ignored.test(file)) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        // Kills a hanging call at once: the change may be its fix.
        void this.tool?.stop();
        this.enqueue(() => this.restart(file));
      }, settleMs);
    });
  }

  /** Restarts the tool, and repeats the last input. */
  private async restart(file: string): Promise<void> {
    this.show('note', `${file} has changed`);
    await this.start();
    if (this.lastInput) await this.execute(this.lastInput);
  }

  private reportFailure(message: string): void {
    this.failures++;
    this.show('error', message);
  }

  /** Prints a line. @param kind such as `→` or `error` */
  private show(kind: string, text: string): void {
    const { out } = this;
    if (out.json) out.line(JSON.stringify({ mark: kind, text }));
    else out.line(`${out.styled(styles[kind] ?? 'dim', kind.padEnd(5))} ${text}`);
  }
}

/** Styles of lines by kind: `→` is sent to the tool, `←` is received. */
const styles: Readonly<Record<string, 'cyan' | 'green' | 'red' | 'yellow'>> = {
  '→': 'cyan',
  '←': 'green',
  error: 'red',
  end: 'red',
  note: 'yellow',
};

/** Runs `toolkeeper tool dev`. @throws CliError if a call failed or the tool did not start */
export async function dev({ surroundings, out }: Session, path: string): Promise<void> {
  const launches = await openDevLaunches(surroundings.environment, surroundings.dataDir);
  await new DevSession(path, launches, out).run().finally(() => launches.close());
}

/** Shows a line about a running tool. */
type Show = (kind: string, text: string) => void;

/** One process of a tool under development, one request at a time. */
class ToolProcess {
  readonly process: PoolProcess;
  /** Rejects with the reason if the tool does not start. */
  readonly started = Promise.withResolvers<Handshake>();
  private readonly ended = Promise.withResolvers<void>();

  constructor(
    private readonly launch: Launch,
    private readonly show: Show,
  ) {
    const { spec, limits } = launch;
    this.process = new PoolProcess(spec, limits, launchShowing(show), (event) => this.on(event));
  }

  /** Sends a request. @returns undefined without an answer; for `execute` this is shown as an error, and ends the process */
  ask(method: 'execute' | 'health', params: object, timeoutMs: number): Promise<Reply | undefined> {
    const { promise, resolve } = Promise.withResolvers<Reply | undefined>();
    const began = performance.now();
    const fail = (reason: PoolFailureReason, message: string): void => {
      resolve(undefined);
      if (method === 'health') return;
      this.show('error', this.withHint(`${reason}: ${message}`, { isStarting: false }));
      this.process.kill('protocol');
    };
    const id = this.process.send(method, params, { answered: resolve, failed: fail });
    const timer = setTimeout(() => {
      // Else the killed process would report a crash of this request as well.
      this.process.forget(id);
      fail('timeout', givenUpRunning('timeout', timeoutMs, this.process.otherOutputSince(began)));
    }, timeoutMs);
    return promise.finally(() => clearTimeout(timer));
  }

  /** Kills the process and waits for its end. */
  async stop(): Promise<void> {
    this.process.kill('stop');
    await this.ended.promise;
    // Not awaited: removing the sandbox's files may take several tries, and nothing depends on it.
    void this.launch.dispose();
  }

  private on(event: ProcessEvent): void {
    if (event.type === 'ready') this.started.resolve(event.handshake);
    else if (event.type === 'start_failed')
      this.started.reject(new Error(this.withHint(event.error, { isStarting: true })));
    else if (event.type === 'stderr') this.show('log', event.line);
    else if (event.type === 'log') this.show('log', `${event.notice.level}: ${event.notice.message}`);
    else if (event.type === 'unparsed') this.show('note', `not a message: ${event.line}`);
    else if (event.type === 'ended') {
      const { reason, signal, exitCode } = event.ending;
      if (reason !== 'stop') this.show('end', signal ?? `exit code ${exitCode}`);
      this.started.reject(new Error('it was stopped'));
      this.ended.resolve();
    }
  }

  /** A message with the end of stderr, and with a hint if the sandbox may be the cause. */
  private withHint(message: string, { isStarting }: { readonly isStarting: boolean }): string {
    const stderr = this.process.stderrTail();
    const hint = this.launch.hint(`${message} ${stderr}`, isStarting);
    const end = stderr === '' ? '' : `; stderr ends with: ${errorLine(stderr)}`;
    return `${message}${end}${hint === undefined ? '' : ` (${hint})`}`;
  }
}

/** Starts a process and shows the lines of both directions. */
const launchShowing =
  (show: Show): Launcher =>
  (spec) => {
    const child = launch(spec);
    const { stdin } = child;
    const write = stdin.write.bind(stdin);
    stdin.write = (lines: string) => {
      for (const line of lines.trimEnd().split('\n')) show('→', line);
      return write(lines);
    };
    const line = (text: string): boolean => {
      if (text.trim() !== '') show('←', text);
      return true;
    };
    const received = new LineFramer(maxShownBytes, { line });
    return child.on('spawn', () => child.stdout.on('data', (chunk: Buffer) => received.push(chunk)));
  };
