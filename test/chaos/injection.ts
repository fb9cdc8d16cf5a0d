import { errorTable } from '../../src/base/common/errors.js';
import type { Arena } from './arena.js';
import type { Ending, Fault, Kind } from './fault.js';
import { type Answer, endingOf } from './gateway.js';
import { type Lane, retryDelayMs } from './lanes.js';
import type { Random } from './random.js';
import type { ChaosInput } from './steps.js';

/** Of calls to a spoiled process. */
const maxRounds = 5;
/** How the wrapper treats a failed call of an idempotent tool. */
const repeated: readonly Ending[] = ['tool_crashed', 'protocol_error', 'spawn_failed'];

/** One fault, injected with honest calls beside it, and everything that must hold afterwards. */
export class Injection {
  private readonly problems: string[] = [];
  private readonly fault: Fault;
  /** The fault happens the first time only: its repetition is answered. */
  private readonly once: boolean;
  /** The answer came before the deadline was noticed. */
  private won = false;

  constructor(
    private readonly arena: Arena,
    kind: Kind,
    private readonly lane: Lane,
    private readonly id: string,
    private readonly random: Random,
  ) {
    this.fault = kind.make(random, lane);
    this.once = lane.retried && !this.fault.twice && random.chance(0.5);
  }

  /** @returns what did not hold */
  async run(): Promise<readonly string[]> {
    const { arena, lane, fault } = this;
    const beside = Array.from({ length: lane.shared ? 2 : 1 }, () => this.neighbour());
    const calls = fault.twice ? [this.faulty(), this.faulty()] : [this.faulty()];
    await Promise.all([...calls, ...beside]);
    await this.after();
    await this.processesGone();
    this.note('the next call', await arena.honest(lane.name));
    this.note('the gateway', await arena.descriptorsBack());
    arena.forget(this.id);
    return this.problems;
  }

  private async faulty(): Promise<void> {
    const { script, deadlineMs } = this.fault;
    const input: ChaosInput = {
      nonce: this.arena.nonce(),
      fault: this.id,
      script,
      ...(this.once && { once: true }),
    };
    try {
      const answer = await this.arena.call(this.lane.name, input, deadlineMs);
      this.judge(answer, input.nonce);
    } catch (error) {
      this.note('the call', `was not answered: ${String(error)}`);
    }
  }

  private judge(answer: Answer, nonce: string): void {
    const { endings, dueMs = 0, races = false } = this.fault;
    const ending = endingOf(answer);
    const isRepeated = this.once && repeated.some((each) => endings.includes(each));
    const allowed = races || isRepeated ? [...endings, 'success'] : endings;
    this.won = races && ending === 'success';
    if (ending === undefined || !allowed.includes(ending)) {
      this.note(
        'the call',
        `ended as ${ending}, not ${allowed.join(' or ')}: ${JSON.stringify(answer.body)}`,
      );
    } else if (answer.status !== (ending === 'success' ? 200 : errorTable[ending].http)) {
      this.note('the call', `ended as ${ending} with HTTP ${answer.status}`);
    } else if (ending === 'success' && answer.body.result?.nonce !== nonce) {
      this.note('the call', `got another's answer: ${JSON.stringify(answer.body.result)}`);
    }
    if (answer.tookMs > dueMs + this.arena.slackMs)
      this.note('the call', `took ${answer.tookMs.toFixed(0)} ms`);
    if (!this.fault.twice) this.judgeAttempts(answer, ending);
  }

  /** Run as often as it says, and twice only where that is safe. */
  private judgeAttempts({ body, tookMs }: Answer, ending: Ending | undefined): void {
    const ran = this.arena.noted(this.id).filter(({ role }) => role === 'self').length;
    const { attempts } = body as { attempts?: number };
    if (attempts !== undefined && ran > attempts)
      this.note('the call', `ran ${ran} times in ${attempts} attempts`);
    const most = this.lane.retried ? 2 : 1;
    if (ran > most) this.note('the call', `ran ${ran} times`);
    if (!this.lane.retried || ending === undefined || !repeated.includes(ending)) return;
    // A call that fails at its deadline has no time for another attempt.
    const hadTime = tookMs < this.fault.deadlineMs - retryDelayMs;
    if (ran < 2 && hadTime) this.note('the call', `was not repeated: ${attempts} attempts`);
    if (ran === 2 && this.once) this.note('the repetition', `ended as ${ending}`);
  }

  /** An honest call at the same time: it may suffer only where it shares the process. */
  private async neighbour(): Promise<void> {
    const { arena, lane, fault } = this;
    const nonce = arena.nonce();
    const work = this.random.between(0, 40);
    const script = [{ do: 'sleep', ms: work } as const, { do: 'reply' } as const];
    try {
      const answer = await arena.call(lane.name, { nonce, script });
      const ending = endingOf(answer);
      const allowed: readonly (Ending | undefined)[] = lane.shared ? (fault.beside ?? []) : [];
      if (ending === 'success') {
        if (answer.body.result?.nonce !== nonce)
          this.note('a neighbour', `got ${JSON.stringify(answer.body.result)}`);
      } else if (!allowed.includes(ending)) {
        this.note('a neighbour', `ended as ${ending}: ${JSON.stringify(answer.body)}`);
      }
      const due = (fault.dueMs ?? 0) + work + this.arena.slackMs;
      if (answer.tookMs > due) this.note('a neighbour', `took ${answer.tookMs.toFixed(0)} ms`);
    } catch (error) {
      this.note('a neighbour', `was not answered: ${String(error)}`);
    }
  }

  /**
   * Calls to a process that is spoiled without anybody knowing it yet: as many at once as reach every process. On a busy
   * machine one may have ended before the other comes; then both go to the same process, and it is done again.
   */
  private async after(): Promise<void> {
    const { after } = this.fault;
    if (!after) return;
    for (let round = 0; round < maxRounds; round++) {
      await Promise.all(Array.from({ length: after.calls }, () => this.sacrifice(after)));
      if (this.arena.living(this.arena.noted(this.id)).length === 0) return;
    }
  }

  private async sacrifice({ paddingBytes, endings }: NonNullable<Fault['after']>): Promise<void> {
    const nonce = this.arena.nonce();
    const answer = await this.arena.call(this.lane.name, { nonce, padding: 'p'.repeat(paddingBytes) }, 400);
    const ending = endingOf(answer);
    if (ending === undefined || !endings.includes(ending)) {
      this.note('a call after it', `ended as ${ending}: ${JSON.stringify(answer.body)}`);
    } else if (ending === 'success' && answer.body.result?.nonce !== nonce) {
      this.note('a call after it', `got ${JSON.stringify(answer.body.result)}`);
    }
    if (answer.tookMs > 400 + this.arena.slackMs)
      this.note('a call after it', `took ${answer.tookMs.toFixed(0)} ms`);
  }

  private async processesGone(): Promise<void> {
    const { arena, lane, fault } = this;
    if ((fault.ends && !this.won) || lane.oneShot) {
      const noted = arena.noted(this.id);
      // The repetition's process answered and lives on.
      const doomed =
        this.once && !lane.oneShot ? noted.filter(({ pid }) => pid !== noted.at(-1)?.pid) : noted;
      for (const { pid, role } of await arena.survivors(doomed))
        this.note(`process ${pid} (${role})`, 'lives on');
    }
    this.note('the tool', await arena.tooMany(lane));
  }

  private note(who: string, what: string | undefined): void {
    if (what !== undefined) this.problems.push(`${who} ${what}`);
  }
}
