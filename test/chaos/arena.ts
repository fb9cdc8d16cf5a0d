import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';
import { descriptorsOf, type FoundProcess, livesSince, processesMarked } from './census.js';
import { ampleMs } from './fault.js';
import { type Answer, endingOf, Gateway } from './gateway.js';
import { type Lane, toolFile } from './lanes.js';
import { Pulse } from './pulse.js';
import type { ChaosInput } from './steps.js';

/** One line of the ledger. */
export interface Noted {
  readonly pid: number;
  readonly startedAt: string;
  readonly role: 'self' | 'grandchild';
}

/** Descriptors that may be open for a moment, such as those of a start under way. */
const spareDescriptors = 12;
const descriptorsPerProcess = 3;
const seenForMs = 40;

/** A gateway, the faulty tool registered with it under several names, and the folder they share. */
export class Arena {
  readonly mark = `CHAOS_RUN=${randomUUID()}`;
  readonly folder = makeTestFolder();
  /** Copies of the tool: none runs out of the server's own folder. */
  readonly copies = makeTestFolder();
  readonly gateway: Gateway;
  private readonly ledger = join(this.folder, 'ledger');
  private readonly pulse: Pulse;
  private nonces = 0;
  private descriptorsAtRest = 0;
  private seen: readonly FoundProcess[] = [];
  private seenAt = -Infinity;

  constructor(variables: Record<string, string> = {}, quietSlackMs?: number) {
    this.pulse = new Pulse(quietSlackMs);
    mkdirSync(this.ledger);
    this.gateway = new Gateway(this.folder, this.copies, variables);
  }

  /** How late an answer may be, and how long an end may take. */
  get slackMs(): number {
    return this.pulse.slackMs;
  }

  async open(): Promise<void> {
    await this.pulse.stop();
    this.pulse.start();
    await this.gateway.start();
    await this.gateway.memory();
    this.descriptorsAtRest = descriptorsOf(this.gateway.pid);
  }

  async register(lane: Lane, members: Record<string, unknown> = {}): Promise<void> {
    const answer = await this.gateway.request('POST', 'custom-tools', {
      name: lane.name,
      command: 'python3',
      args: [toolFile],
      description: 'Does what its input says',
      timeoutMs: 300_000,
      ...lane.settings,
      ...members,
      env: this.environment(lane, members),
    });
    if (answer.status !== 201) throw new Error(`${lane.name}: ${JSON.stringify(answer.body)}`);
  }

  environment(lane: Lane, { env }: { readonly env?: unknown } = {}): Record<string, string> {
    const [name = '', value = ''] = this.mark.split('=');
    return {
      [name]: value,
      CHAOS_TOOL: this.nameTag(lane),
      CHAOS_LEDGER: this.ledger,
      ...(lane.settings['env'] as Record<string, string> | undefined),
      ...(env as Record<string, string> | undefined),
    };
  }

  /** Characters of one, two, three and four bytes; never the same twice. */
  nonce(): string {
    return `n${++this.nonces}-é-漢-🙂`;
  }

  call(tool: string, input: ChaosInput, timeoutMs = ampleMs): Promise<Answer> {
    const body = { input, context: { timeoutMs } };
    return this.gateway.request('POST', `tools/${tool}/execute`, body, timeoutMs + 4 * this.slackMs);
  }

  /** A call that nothing is wrong with. @returns what is wrong with its answer, if anything */
  async honest(tool: string, workMs = 0): Promise<string | undefined> {
    const nonce = this.nonce();
    const script = [{ do: 'sleep', ms: workMs } as const, { do: 'reply' } as const];
    const answer = await this.call(tool, { nonce, ...(workMs > 0 && { script }) });
    const ending = endingOf(answer);
    if (ending !== 'success') return `ended as ${ending} (${answer.status}): ${JSON.stringify(answer.body)}`;
    if (answer.body.result.nonce !== nonce)
      return `got another's answer: ${JSON.stringify(answer.body.result)}`;
    if (answer.tookMs > workMs + this.slackMs) return `took ${answer.tookMs.toFixed(0)} ms`;
    return undefined;
  }

  /** The processes that a fault's call ran in or left behind. */
  noted(fault: string): Noted[] {
    try {
      const lines = readFileSync(join(this.ledger, fault), 'ascii').split('\n');
      // The file is there a moment before its first line.
      return lines.filter(Boolean).map((line) => {
        const [pid, startedAt, role] = line.split(' ') as [string, string, Noted['role']];
        return { pid: Number(pid), startedAt, role };
      });
    } catch {
      return []; // It never got to run.
    }
  }

  forget(fault: string): void {
    rmSync(join(this.ledger, fault), { force: true });
  }

  /** Waits for the end of processes. @returns those that live on */
  async survivors(processes: readonly Noted[]): Promise<Noted[]> {
    const areGone = (): boolean => this.living(processes).length === 0;
    await until(areGone, { timeoutMs: this.slackMs, what: 'their end' }).catch(() => undefined);
    return this.living(processes);
  }

  living(processes: readonly Noted[]): Noted[] {
    return processes.filter(({ pid, startedAt }) => livesSince(pid, startedAt));
  }

  /** Processes of a lane's tool; grandchildren that live on with the tool that started them included. */
  private processesOf(lane: Lane): number {
    return this.marked().filter(({ environment }) => environment.includes(`CHAOS_TOOL=${this.nameTag(lane)}`))
      .length;
  }

  /** Gives a lane's surplus processes time to end. @returns what is wrong, if some live on */
  async tooMany(lane: Lane): Promise<string | undefined> {
    let living = 0;
    const few = (): boolean => (living = this.processesOf(lane)) <= lane.maxProcesses;
    const isSettled = await until(few, { timeoutMs: this.slackMs, what: 'surplus processes to end' }).catch(
      () => false,
    );
    return isSettled ? undefined : `${lane.name} has ${living} processes, over ${lane.maxProcesses}`;
  }

  /** Waits until these calls of a tool run, wait or have ended. */
  async admitted(tool: string, calls: readonly Promise<unknown>[]): Promise<void> {
    let ended = 0;
    for (const call of calls) void call.then(() => ended++);
    const all = async (): Promise<boolean> => {
      // One that ends meanwhile is not counted twice.
      const before = ended;
      const { body } = await this.gateway.request('GET', `custom-tools/${tool}/health`);
      return before + body.processes.busy + body.processes.waiting >= calls.length;
    };
    await until(all, { what: `${calls.length} calls of ${tool} to be admitted`, timeoutMs: this.slackMs });
  }

  /** The processes that live, and the gateway's descriptors beyond theirs. */
  holdings(): { readonly living: readonly number[]; readonly beyond: number } {
    const living = this.marked().map(({ pid }) => pid);
    return { living, beyond: descriptorsOf(this.gateway.pid) - living.length * descriptorsPerProcess };
  }

  /** Waits until the gateway holds no more descriptors than its processes need. @returns what is wrong, if anything */
  async descriptorsBack(): Promise<string | undefined> {
    let beyond = 0;
    const most = this.descriptorsAtRest + spareDescriptors;
    const back = (): boolean => (beyond = this.holdings().beyond) <= most;
    const isBack = await until(back, { timeoutMs: this.slackMs, what: 'descriptors' }).catch(() => false);
    return isBack ? undefined : `${beyond} descriptors are open beyond those of processes, over ${most}`;
  }

  /** Waits until no process of the suite is left. @returns the pids of those that are */
  async leftovers(timeoutMs = this.slackMs): Promise<number[]> {
    const left = (): number[] => this.marked().map(({ pid }) => pid);
    await until(() => left().length === 0, { timeoutMs: timeoutMs, what: 'their end' }).catch(
      () => undefined,
    );
    return left();
  }

  /** Ends everything, what the suite found living on included. */
  async close(): Promise<void> {
    await this.pulse.stop();
    try {
      await this.gateway.end('SIGTERM');
    } finally {
      for (const pid of await this.leftovers(1_000)) process.kill(pid, 'SIGKILL');
      for (const each of [this.folder, this.copies]) rmSync(each, { recursive: true, force: true });
    }
  }

  /** All processes of this run; looked at by many at once, so what was seen a moment ago is good enough. */
  private marked(): readonly FoundProcess[] {
    const now = performance.now();
    if (now - this.seenAt > seenForMs) {
      this.seen = processesMarked(this.mark);
      this.seenAt = now;
    }
    return this.seen;
  }

  /** Ends with a sign that no other name begins with. */
  private nameTag(lane: Lane): string {
    return `${lane.name};`;
  }
}
