import { randomUUID } from 'node:crypto';
import type { OwnPostgres } from './own-postgres.js';

/** What came of the calls of one drill, and what the database says about them. */
export interface Verdict {
  readonly calls: number;
  readonly acknowledged: number;
  /** Answered with a refusal: never run. */
  readonly refused: number;
  readonly interrupted: number;
  /** Acknowledged without a row. */
  readonly lost: number;
  /** Calls with more rows than one. */
  readonly doubled: number;
  /** Acknowledged with a row that says something else. */
  readonly wrong: number;
  /** Refused with a row. */
  readonly phantom: number;
}

interface Sent {
  /** `<execution id> <how it ended>`, 'refused', or nothing when no answer came. */
  answer?: string;
}

/** Keeps what the client was told; each call has a session of its own, by which its row is found. */
export class Ledger {
  readonly mark = randomUUID().slice(0, 8);
  private readonly sent = new Map<string, Sent>();
  private readonly refusedCodes = new Map<string, number>();
  private readonly cutOff = new Map<string, number>();
  private open = 0;

  get acknowledged(): number {
    return [...this.sent.values()].filter(({ answer }) => answer?.includes(' ')).length;
  }

  /** Calls without an answer yet. */
  get unanswered(): number {
    return this.open;
  }

  /** Calls that were made until now. */
  get calls(): number {
    return this.sent.size;
  }

  /** Codes of refusals, and why calls got no answer, with how often each came. */
  get failures(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.refusedCodes, ...this.cutOff]);
  }

  refusedWith(code: string): number {
    return this.refusedCodes.get(code) ?? 0;
  }

  /** Never throws: a gateway that dies is what this is about. */
  async call(
    url: string,
    tool: string,
    input: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const session = `${this.mark}-${this.sent.size}`;
    const entry: Sent = {};
    this.sent.set(session, entry);
    this.open += 1;
    let status: number | undefined;
    try {
      const response = await fetch(`${url}/api/v1/tools/${tool}/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-session-id': session, ...headers },
        body: JSON.stringify({ input }),
      });
      ({ status } = response);
      const body = (await response.json()) as Record<string, unknown>;
      entry.answer = this.answerOf(body);
    } catch (error) {
      // Not answered, or by a balancer: whether it ran is for the rows to say.
      const { cause } = error as { cause?: { code?: string } };
      const reason =
        status === undefined ? String(cause?.code ?? error) : `HTTP ${status} without a body of ours`;
      this.cutOff.set(reason, (this.cutOff.get(reason) ?? 0) + 1);
    } finally {
      this.open -= 1;
    }
  }

  /** The sessions of all calls acknowledged until now. */
  acknowledgedSessions(): string[] {
    return [...this.sent].filter(([, { answer }]) => answer?.includes(' ')).map(([session]) => session);
  }

  async haveRows(db: OwnPostgres, sessions: readonly string[]): Promise<boolean> {
    const rows = await this.rows(db);
    return sessions.every((session) => rows.has(session));
  }

  async verdict(db: OwnPostgres): Promise<Verdict> {
    const rows = await this.rows(db);
    const tally = { acknowledged: 0, refused: 0, interrupted: 0, lost: 0, doubled: 0, wrong: 0, phantom: 0 };
    for (const [session, { answer }] of this.sent) {
      const own = rows.get(session) ?? [];
      if (own.length > 1) tally.doubled += 1;
      if (own.some((row) => row.endsWith(' error/interrupted'))) tally.interrupted += 1;
      if (answer === 'refused') {
        tally.refused += 1;
        if (own.length > 0) tally.phantom += 1;
      } else if (answer !== undefined) {
        tally.acknowledged += 1;
        if (own.length === 0) tally.lost += 1;
        else if (!own.includes(answer)) tally.wrong += 1;
      }
    }
    tally.doubled += await this.miscounted(db);
    return { calls: this.sent.size, ...tally };
  }

  /** Rows and what counts them are written by one statement: each look sees as many of both. */
  private async miscounted(db: OwnPostgres): Promise<number> {
    const cells = (table: string): string =>
      `(SELECT coalesce(sum(calls), 0) FROM ${table} WHERE seconds = 3600)`;
    const [row] = await db.query(
      `SELECT (abs(count(*) - ${cells('tool_metric_rollups')})
              + abs(count(*) FILTER (WHERE NOT is_test) - ${cells('tool_caller_rollups')}))::int AS off
       FROM tool_metrics`,
    );
    return Number(row?.['off']);
  }

  private answerOf(body: Record<string, unknown>): string {
    if (typeof body['executionId'] === 'string') {
      const error = body['error'] as { type?: string } | undefined;
      return `${body['executionId']} ${String(body['status'])}/${error?.type ?? ''}`;
    }
    const code = String(body['code']);
    this.refusedCodes.set(code, this.refusedWith(code) + 1);
    return 'refused';
  }

  private async rows(db: OwnPostgres): Promise<Map<string, string[]>> {
    const found = await db.query(
      `SELECT session_id AS session, metric_id || ' ' || status || '/' || coalesce(error_type, '') AS said
       FROM tool_metrics WHERE starts_with(session_id, $1)`,
      [`${this.mark}-`],
    );
    const rows = new Map<string, string[]>();
    for (const { session, said } of found) {
      const own = rows.get(String(session)) ?? [];
      own.push(String(said));
      rows.set(String(session), own);
    }
    return rows;
  }
}
