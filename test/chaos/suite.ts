import { Arena } from './arena.js';
import type { Drill } from './drill.js';
import { changeDrills } from './drills.change.js';
import { deathDrills } from './drills.death.js';
import { startDrills } from './drills.start.js';
import type { Kind } from './fault.js';
import { Findings } from './findings.js';
import { Injection } from './injection.js';
import { endingKinds } from './kinds.endings.js';
import { frameKinds } from './kinds.frames.js';
import { pipeKinds } from './kinds.pipes.js';
import { type Lane, lanes, ownLane } from './lanes.js';
import { Random } from './random.js';
import type { Point } from './trend.js';

export const kinds: readonly Kind[] = [...endingKinds, ...frameKinds, ...pipeKinds];
export const drills: readonly Drill[] = [...startDrills, ...changeDrills, ...deathDrills];
const all: readonly { readonly name: string; readonly count: number }[] = [...kinds, ...drills];

const scout = ownLane('chaos_scout', 1);

/** Names of all kinds, and how many faults the long form injects. */
export const kindNames: readonly string[] = all.map(({ name }) => name);
export const fullCount = all.reduce((sum, { count }) => sum + count, 0);

export interface SuiteOptions {
  readonly seed: number;
  /** Share of the long form's faults; every kind is injected at least once. */
  readonly scale: number;
  /** Only these; empty: all. */
  readonly only: readonly string[];
  /** Further configuration of the gateway. */
  readonly variables?: Record<string, string>;
  /** Milliseconds between two samples of the gateway's memory; 0: none. */
  readonly sampleEveryMs: number;
  /** The suite stops when so much is wrong. */
  readonly maxProblems: number;
  /** How late an answer may be on a quiet machine, in milliseconds; absent: as the long form says. */
  readonly quietSlackMs?: number;
  readonly say: (line: string) => void;
}

/** One planned injection. */
interface Planned {
  readonly kind: Kind;
  readonly id: string;
  readonly random: Random;
}

/** What a run found out. */
export interface SuiteResult {
  readonly findings: Findings;
  /** Resident bytes of the gateway over the faults injected so far; until the gateway itself is killed. */
  readonly memory: readonly Point[];
}

/** Injects faults of every kind, in an order and with details that depend on the seed alone. */
export class Suite {
  private readonly findings = new Findings();
  private readonly memory: Point[] = [];
  private readonly arena: Arena;
  private stopped = false;

  constructor(private readonly options: SuiteOptions) {
    this.arena = new Arena(options.variables, options.quietSlackMs);
  }

  async run(): Promise<SuiteResult> {
    const { arena, findings } = this;
    try {
      await this.guarded(() => this.begin());
      if (!this.isOver()) await this.sideBySide();
      for (const drill of this.wantedDrills().filter(({ alone }) => alone)) {
        await this.guarded(() => this.drill(drill));
      }
      await this.guarded(() => this.everythingGone());
    } finally {
      await this.guarded(() => arena.close());
    }
    return { findings, memory: this.memory };
  }

  private async begin(): Promise<void> {
    await this.arena.open();
    // The first process of all: whatever the gateway keeps for starting others is there afterwards.
    await this.arena.register(scout);
    const failure = await this.arena.honest(scout.name);
    if (failure !== undefined) this.wrong('the first call', failure);
  }

  /** Injects nothing more; what runs is still looked at, and everything is cleaned up. */
  stop(): void {
    this.stopped = true;
  }

  /** Lanes and drills run beside each other: what one of them suffers must not reach the others. */
  private async sideBySide(): Promise<void> {
    const { sampleEveryMs } = this.options;
    const sampler = sampleEveryMs > 0 ? setInterval(() => void this.sample(), sampleEveryMs) : undefined;
    const plan = this.plan();
    const used = lanes.filter(({ name }) => plan.get(name)?.length);
    try {
      const drills = this.wantedDrills().filter(({ alone }) => !alone);
      // Whichever breaks down: the others come to an end before anything is cleaned up.
      await Promise.all([
        ...used.map((lane) => this.guarded(() => this.walk(lane, plan.get(lane.name) ?? []))),
        ...drills.map((drill) => this.guarded(() => this.drill(drill))),
      ]);
    } finally {
      clearInterval(sampler);
    }
  }

  /** What breaks down ends the suite, with what the gateway logged beside the expected failures of tools. */
  private async guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.stop();
      const logged = this.arena.gateway.log().split('\n');
      const errors = logged.filter((line) => /"(error|fatal)"/.test(line) && !line.includes('"tool error"'));
      this.wrong('the suite', [describe(error), ...errors.slice(-5)].join('\n'));
    }
  }

  private async walk(lane: Lane, planned: readonly Planned[]): Promise<void> {
    await this.arena.register(lane);
    for (const { kind, id, random } of planned) {
      if (this.isOver()) return;
      const problems = await new Injection(this.arena, kind, lane, id, random).run();
      for (const problem of problems) this.wrong(`${id} on ${lane.name}`, problem);
      this.findings.count(kind.name);
    }
  }

  private async drill(drill: Drill): Promise<void> {
    if (drill.needsSpawner && this.withoutSpawner(drill.name)) return;
    await drill.prepare(this.arena);
    for (let n = 0; n < this.countOf(drill) && !this.isOver(); n++) {
      const wrong = (what: string | undefined): void => {
        if (what !== undefined) this.wrong(`${drill.name}-${n}`, what);
      };
      await drill.run(this.arena, this.randomFor(drill.name, n), wrong);
      this.findings.count(drill.name);
    }
  }

  /** Which faults meet which lane, in which order. */
  private plan(): Map<string, Planned[]> {
    const plan = new Map<string, Planned[]>();
    for (const kind of kinds.filter(({ name }) => this.isWanted(name))) {
      if (kind.needsSpawner && this.withoutSpawner(kind.name)) continue;
      const fitting = lanes.filter((lane) => kind.fits?.(lane) ?? true);
      for (let n = 0; n < this.countOf(kind); n++) {
        const random = this.randomFor(kind.name, n);
        const { name } = random.of(fitting);
        plan.set(name, [...(plan.get(name) ?? []), { kind, id: `${kind.name}-${n}`, random }]);
      }
    }
    return new Map([...plan].map(([name, faults]) => [name, this.randomFor(name, 0).shuffled(faults)]));
  }

  /** When every tool is deleted nothing may be left. */
  private async everythingGone(): Promise<void> {
    const { arena } = this;
    const { body } = await arena.gateway.request('GET', 'custom-tools?limit=100');
    for (const { name } of body.data) await arena.gateway.request('DELETE', `custom-tools/${name}`);
    const left = await arena.leftovers();
    if (left.length > 0) this.wrong('the end', `${left.length} processes are left: ${left.join(', ')}`);
    const open = await arena.descriptorsBack();
    if (open !== undefined) this.wrong('the end', open);
  }

  private async sample(): Promise<void> {
    try {
      const { rss } = await this.arena.gateway.memory();
      this.memory.push({ x: this.findings.total, y: rss });
    } catch (error) {
      this.wrong('the memory probe', String(error));
    }
  }

  private wrong(where: string, what: string): void {
    this.findings.wrong(where, what);
    this.options.say(`✗ ${where}: ${what}`);
  }

  private isOver(): boolean {
    return this.stopped || this.findings.problems.length >= this.options.maxProblems;
  }

  private withoutSpawner(kind: string): boolean {
    const missing = this.arena.gateway.spawnerPid === undefined;
    if (missing) this.findings.skip(kind, 'no spawner here');
    return missing;
  }

  private wantedDrills(): Drill[] {
    return drills.filter(({ name }) => this.isWanted(name));
  }

  private isWanted(name: string): boolean {
    return this.options.only.length === 0 || this.options.only.includes(name);
  }

  private countOf({ count }: { readonly count: number }): number {
    return Math.max(1, Math.round(count * this.options.scale));
  }

  /** The same for a fault whatever else is injected, so that one kind can be looked at alone. */
  private randomFor(name: string, n: number): Random {
    let mixed = this.options.seed;
    for (const char of `${name}#${n}`) mixed = (Math.imul(mixed, 31) + (char.codePointAt(0) ?? 0)) >>> 0;
    return new Random(mixed);
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
