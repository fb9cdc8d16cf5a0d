import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { storableJson } from '../../base/common/pg-text.js';
import type { UiAnswerBody, UiPageBody } from './ui-sessions.dto.js';

/** Another caller's permission to act on a page. Each status expires; then the user is asked again. */
export interface UiGrant {
  readonly name: string;
  readonly status: 'asked' | 'granted' | 'refused';
  /** ISO 8601. */
  readonly until: string;
}

/** A page's session as its callers find it. */
export interface UiSession {
  readonly caller: string;
  readonly page: UiPageBody;
  readonly connected: boolean;
  /** Milliseconds since its stream was opened, closed or marked as alive. */
  readonly idleMs: number;
  /** The status of the calling caller's grant; null if it has none, or an expired one. */
  readonly grant: UiGrant['status'] | null;
}

interface NewUiCall {
  readonly id: string;
  readonly session: string;
  readonly caller: string;
  /** Stored only if the caller is not the page's own. */
  readonly callerName: string;
  readonly tool: string;
  readonly input: unknown;
  readonly remainingMs: number;
}

/** A call as the replica that holds its tab reads it. */
export interface UiCallRow {
  readonly id: string;
  readonly session_id: string;
  readonly caller: string;
  readonly caller_name: string | null;
  readonly tool: string;
  readonly input: unknown;
  /** ISO 8601. */
  readonly deadline: string;
  readonly state: 'open' | 'answered' | 'ended';
}

/** The present state of some sessions, and their open calls. */
interface UiNews {
  readonly sessions: readonly {
    readonly id: string;
    readonly stream_id: string | null;
    readonly grants: Readonly<Record<string, UiGrant>>;
  }[];
  readonly calls: readonly UiCallRow[];
}

/** SQL: whether session `s` has an open stream. One that was not marked as alive for 30 s has ended with its replica. */
const isConnected = `(s.stream_id IS NOT NULL AND s.seen_at > now() - interval '30 seconds')`;
/** SQL: whether a grant is over. */
const isExpired = (grant: string): string => `((${grant}->>'until')::timestamptz <= now())`;
/** Max sessions of a caller. */
export const maxSessions = 100;
/** Max callers with a grant for a page that has not expired. */
const maxGrants = 20;

/** Rows of `ui_sessions` and `ui_calls`. Each statement for a page is restricted to the page's own caller. */
@Injectable()
export class UiSessionsRepository {
  constructor(@InjectDataSource() private readonly db: DataSource) {}

  /**
   * Creates a session, and deletes those without a stream for a minute.
   * @returns false if the caller has `maxSessions` already
   */
  async create(id: string, caller: string): Promise<boolean> {
    await this.db.query(
      `DELETE FROM ui_sessions s WHERE NOT ${isConnected} AND seen_at < now() - interval '1 minute'`,
    );
    await this.db.query(`DELETE FROM ui_calls WHERE deadline < now() - interval '1 hour'`);
    const page = { route: '/', offers: [], context: {} };
    const rows = await this.db.query<object[]>(
      `INSERT INTO ui_sessions (id, caller, page) SELECT $1, $2, $3
       WHERE (SELECT count(*) FROM ui_sessions WHERE caller = $2) < ${maxSessions} RETURNING 1`,
      [id, caller, JSON.stringify(page)],
    );
    return rows.length > 0;
  }

  /** Stores what the page shows now. @returns false if the session is gone */
  report(id: string, caller: string, page: UiPageBody): Promise<boolean> {
    return this.update(`page = $3 WHERE id = $1 AND caller = $2`, [id, caller, storableJson(page)]);
  }

  /** Finds a session. @param grantee the caller whose grant is read */
  async find(id: string, grantee: string): Promise<UiSession | undefined> {
    const [row] = await this.db.query<UiSession[]>(
      `SELECT caller, page, ${isConnected} AS connected,
              (extract(epoch FROM now() - seen_at) * 1000)::float8 AS "idleMs",
              CASE WHEN NOT ${isExpired('grants->$2::text')} THEN grants->$2::text->>'status' END AS grant
       FROM ui_sessions s WHERE id = $1`,
      [id, grantee],
    );
    return row;
  }

  /** Makes this the session's stream, in place of an earlier one. @returns false if the session is gone */
  openStream(id: string, caller: string, stream: string): Promise<boolean> {
    return this.update(`stream_id = $3, seen_at = now() WHERE id = $1 AND caller = $2`, [id, caller, stream]);
  }

  async closeStream(stream: string): Promise<void> {
    await this.update(`stream_id = NULL, seen_at = now() WHERE stream_id = $1`, [stream]);
  }

  /** Records that streams are still open. */
  async touchStreams(streams: readonly string[]): Promise<void> {
    await this.update(`seen_at = now() WHERE stream_id = ANY($1)`, [streams]);
  }

  /** Records that a caller asks to act on the page, unless it has a grant that has not expired. */
  async askForGrant(id: string, caller: string, name: string): Promise<void> {
    await this.update(
      `grants = grants || jsonb_build_object($2::text, jsonb_build_object(
         'name', $3::text, 'status', 'asked', 'until', now() + interval '30 minutes'))
       WHERE id = $1 AND coalesce(${isExpired('grants->$2::text')}, true)
         AND (SELECT count(*) FROM jsonb_each(grants) WHERE NOT ${isExpired('value')}) < ${maxGrants}`,
      [id, caller, name],
    );
  }

  /** Stores the user's decision. @param grantee the caller who asked @returns false if that caller did not ask */
  decide(id: string, caller: string, grantee: string, status: UiGrant['status']): Promise<boolean> {
    return this.update(
      `grants = jsonb_set(grants, ARRAY[$3::text], grants->$3::text || jsonb_build_object(
         'status', $4::text, 'until', now() + interval '30 minutes'))
       WHERE id = $1 AND caller = $2 AND jsonb_exists(grants, $3::text)`,
      [id, caller, grantee, status],
    );
  }

  /** Answers the open calls of a caller that may no longer act on the page. */
  async answerCallsOf(id: string, caller: string, answer: UiAnswerBody): Promise<void> {
    await this.db.query(
      `UPDATE ui_calls SET answer = $3, ended_at = now()
       WHERE session_id = $1 AND caller = $2 AND answer IS NULL AND ended_at IS NULL`,
      [id, caller, storableJson(answer)],
    );
  }

  /** Stores a call for the page. @returns false if the session is gone */
  async addCall(call: NewUiCall): Promise<boolean> {
    const { id, session, caller, callerName, tool, input, remainingMs } = call;
    const rows = await this.db.query<object[]>(
      `INSERT INTO ui_calls (id, session_id, caller, caller_name, tool, input, deadline)
       SELECT $1, id, $3, CASE WHEN caller <> $3 THEN $4 END, $5, $6, now() + $7 * interval '1 millisecond'
       FROM ui_sessions WHERE id = $2
       RETURNING 1`,
      [id, session, caller, callerName, tool, storableJson(input), remainingMs],
    );
    return rows.length > 0;
  }

  /** Ends a call whose caller no longer waits for the answer. */
  async endCall(id: string): Promise<void> {
    await this.db.query(
      'UPDATE ui_calls SET ended_at = now() WHERE id = $1 AND answer IS NULL AND ended_at IS NULL',
      [id],
    );
  }

  /**
   * Stores the first answer to a call.
   * @param caller the page's own caller
   * @returns `stored`, also for the same answer again; `differs` from the stored answer; `over`: nobody waits for the
   * answer any more; undefined: the page has no such call
   */
  async answer(
    { id, session, caller }: Pick<NewUiCall, 'id' | 'session' | 'caller'>,
    answer: UiAnswerBody,
  ): Promise<'stored' | 'differs' | 'over' | undefined> {
    const text = storableJson(answer);
    const isOwnCall = `c.session_id = s.id AND c.id = $1 AND s.id = $2 AND s.caller = $3`;
    const [[stored]] = await this.db.query<[object[], number]>(
      `UPDATE ui_calls c SET answer = $4 FROM ui_sessions s
       WHERE ${isOwnCall} AND answer IS NULL AND ended_at IS NULL AND deadline > now() RETURNING 1`,
      [id, session, caller, text],
    );
    if (stored) return 'stored';
    const [row] = await this.db.query<{ answer: string | null; isOver: boolean }[]>(
      `SELECT answer::text, ended_at IS NOT NULL OR answer IS NULL AS "isOver"
       FROM ui_calls c, ui_sessions s WHERE ${isOwnCall}`,
      [id, session, caller],
    );
    if (!row) return undefined;
    if (row.isOver) return 'over';
    return row.answer === text ? 'stored' : 'differs';
  }

  /** All callers with an open page. */
  callersWithPage(): Promise<{ caller: string }[]> {
    return this.db.query(`SELECT DISTINCT caller FROM ui_sessions s WHERE ${isConnected}`);
  }

  /** Reads sessions and their open calls. @param known calls that pages have already; returned in any state */
  async news(sessions: readonly string[], known: readonly string[]): Promise<UiNews> {
    const [row] = await this.db.query<[UiNews]>(
      `SELECT
         (SELECT coalesce(json_agg(json_build_object('id', id, 'stream_id', stream_id, 'grants', grants)), '[]')
          FROM ui_sessions WHERE id = ANY($1)) AS sessions,
         (SELECT coalesce(json_agg(json_build_object(
            'id', id, 'session_id', session_id, 'caller', caller, 'caller_name', caller_name, 'tool', tool,
            'input', input, 'deadline', deadline, 'state',
            CASE WHEN ended_at IS NOT NULL THEN 'ended' WHEN answer IS NOT NULL THEN 'answered' ELSE 'open' END
          ) ORDER BY id), '[]')
          FROM ui_calls
          WHERE session_id = ANY($1) AND (answer IS NULL AND ended_at IS NULL AND deadline > now() OR id = ANY($2))
         ) AS calls`,
      [sessions, known],
    );
    return row;
  }

  /** The answers to these calls so far; `null` for a call whose page has been away for 5 s. */
  async answers(calls: readonly string[]): Promise<{ id: string; answer: UiAnswerBody | null }[]> {
    return this.db.query(
      `SELECT c.id, c.answer FROM ui_calls c JOIN ui_sessions s ON s.id = c.session_id
       WHERE c.id = ANY($1)
         AND (c.answer IS NOT NULL OR NOT ${isConnected} AND s.seen_at < now() - interval '5 seconds')`,
      [calls],
    );
  }

  /** Updates sessions. @returns whether any was updated */
  private async update(setAndWhere: string, values: unknown[]): Promise<boolean> {
    const sql = `UPDATE ui_sessions SET ${setAndWhere}`;
    const [, count] = await this.db.query<[unknown, number]>(sql, values);
    return count > 0;
  }
}
