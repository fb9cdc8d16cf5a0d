import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource, EntityManager } from 'typeorm';
import { sanitisedText, storableJson } from '../../base/common/pg-text.js';
import type { ChatState, ChatUsageView, ListedChatView } from './assistant.dto.js';
import type { ChatMessage, Part } from './chat-message.js';

const noUsage: ChatUsageView = { steps: 0, calls: 0, inputTokens: 0, outputTokens: 0, cost: null };

/** The owner of chats. Each query is restricted to one owner, so that ids of others' chats find nothing. */
export interface ChatOwner {
  readonly owner: string;
  readonly project: string;
}

/** A chat without its messages. */
export interface Chat extends ChatOwner, ListedChatView {
  readonly turns: number;
  readonly uiSession: string | null;
}

/** Columns that a change sets. */
export interface ChatChange {
  readonly title?: string;
  readonly state?: ChatState;
  readonly turns?: number;
  readonly run_id?: string;
  readonly ui_session?: string | null;
}

/** The end of a run, as its chat shows it. */
export type RunEnd = Pick<Chat, 'state' | 'error'>;

/** The latest state of a run. */
interface RunState {
  readonly usage: ChatUsageView;
  readonly message: ChatMessage;
  /** Index of the first part to write; 0 writes the whole message. */
  readonly from: number;
  /** Position of the message in the chat. */
  readonly position: number;
}

/** SQL: the end of a run's lease, which each write renews. A run whose lease is over counts as dead. */
const leaseEnd = `now() + interval '10 seconds'`;
const isDead = `state = 'running' AND held_until < now()`;
/** Columns of `Chat`. */
const columns = `
  id, owner, project, title, usage, turns, ui_session AS "uiSession", created_at AS "createdAt",
  updated_at AS "updatedAt",
  CASE WHEN ${isDead} THEN 'interrupted' ELSE state END AS state,
  CASE WHEN ${isDead} THEN 'The server ended before the turn did' ELSE error END AS error`;

/** Max chats of an owner. */
export const maxChats = 1_000;
const isOwn = 'id = $1 AND owner = $2 AND project = $3';
const insertMessage = 'INSERT INTO assistant_messages (chat_id, position, message)';

/**
 * SQL: writes parts of a run's message. During a run the parts of its last steps are stored beside the message, so that each
 * write is small.
 */
const putParts = `
  put AS (
    INSERT INTO assistant_parts (chat_id, position, place, part)
    SELECT id, $4, (each ->> 'place')::integer, each -> 'part' FROM run, json_array_elements($5) AS each
    ON CONFLICT (chat_id, position, place) DO UPDATE SET part = excluded.part)`;
/** SQL: writes a run's whole message. */
const putMessage = `
  gone AS (DELETE FROM assistant_parts USING run WHERE chat_id = run.id AND position = $4),
  put AS (
    ${insertMessage} SELECT id, $4, $5 FROM run
    ON CONFLICT (chat_id, position) DO UPDATE SET message = excluded.message)`;

/** Rows of assistant_chats, assistant_messages and assistant_parts. Ids must be UUIDs. */
@Injectable()
export class ChatsRepository {
  constructor(@InjectDataSource() private readonly db: DataSource) {}

  /** Creates a chat. @returns false if the owner has `maxChats` already */
  create(id: string, { owner, project }: ChatOwner): Promise<boolean> {
    return this.changesRow(
      `INSERT INTO assistant_chats (id, owner, project, title, usage) SELECT $1, $2, $3, '', $4
       WHERE (SELECT count(*) FROM assistant_chats WHERE owner = $2) < ${maxChats} RETURNING 1`,
      [id, owner, project, storableJson(noUsage)],
    );
  }

  /** Chats of an owner, last used first. */
  list({ owner, project }: ChatOwner, limit: number): Promise<Chat[]> {
    return this.db.query<Chat[]>(
      `SELECT ${columns} FROM assistant_chats WHERE owner = $1 AND project = $2
       ORDER BY updated_at DESC, id DESC LIMIT $3`,
      [owner, project, limit],
    );
  }

  /** Finds a chat; undefined if the owner has no such chat. */
  async find({ owner, project }: ChatOwner, id: string, db: EntityManager = this.db.manager) {
    const sql = `SELECT ${columns} FROM assistant_chats WHERE ${isOwn}`;
    const [row] = await db.query<Chat[]>(sql, [id, owner, project]);
    return row;
  }

  /** Messages of a chat, oldest first. @param latest only this many, the newest */
  async messages(id: string, latest?: number, db: EntityManager = this.db.manager): Promise<ChatMessage[]> {
    const rows = await db.query<{ message: ChatMessage; parts: { place: number; part: Part }[] | null }[]>(
      `SELECT message, (
         SELECT json_agg(json_build_object('place', place, 'part', part)) FROM assistant_parts AS p
         WHERE p.chat_id = m.chat_id AND p.position = m.position
       ) AS parts FROM assistant_messages AS m WHERE chat_id = $1 ORDER BY position DESC LIMIT $2`,
      [id, latest ?? null],
    );
    for (const { message, parts } of rows)
      for (const { place, part } of parts ?? []) message.parts[place] = part;
    return rows.map(({ message }) => message).reverse();
  }

  /** Deletes a chat. @returns false if there was none */
  delete({ owner, project }: ChatOwner, id: string): Promise<boolean> {
    return this.changesRow(`DELETE FROM assistant_chats WHERE ${isOwn}`, [id, owner, project]);
  }

  /** Deletes chats that were not used since then. */
  async deleteOlder(before: Date): Promise<void> {
    await this.db.query('DELETE FROM assistant_chats WHERE updated_at < $1', [before]);
  }

  /**
   * Changes a chat and its messages in a transaction. Of two concurrent changes the second sees the first.
   * @param apply changes the messages and returns the columns to set; may throw
   * @returns the changed chat and its messages; undefined if there is none
   */
  change(
    owner: ChatOwner,
    id: string,
    apply: (chat: Chat, messages: ChatMessage[]) => ChatChange,
  ): Promise<{ chat: Chat; messages: ChatMessage[] } | undefined> {
    return this.db.transaction(async (db: EntityManager) => {
      await db.query('SELECT FROM assistant_chats WHERE id = $1 FOR UPDATE', [id]);
      const before = await this.find(owner, id, db);
      if (!before) return undefined;
      const messages = await this.messages(id, undefined, db);
      const columnValues = apply(before, messages);
      const assignments = Object.keys(columnValues).map((name, index) => `${name} = $${index + 2}, `);
      await db.query(
        `UPDATE assistant_chats SET ${assignments.join('')} held_until = ${leaseEnd}, error = NULL, updated_at = now() WHERE id = $1`,
        [id, ...(Object.values(columnValues) as unknown[])],
      );
      await db.query('DELETE FROM assistant_messages WHERE chat_id = $1', [id]);
      await db.query(
        `${insertMessage} SELECT $1, place, message FROM json_array_elements($2) WITH ORDINALITY AS m (message, place)`,
        [id, storableJson(messages)],
      );
      const chat = await this.find(owner, id, db);
      return chat && { chat, messages };
    });
  }

  /**
   * Writes the state of a run and renews its lease, or writes its end. A run that was stopped stays stopped.
   * @returns false if the run was stopped or its chat deleted
   */
  write(id: string, runId: string, state: RunState, end?: RunEnd): Promise<boolean> {
    const { usage, message, from, position } = state;
    const parts = message.parts.slice(from).map((part, index) => ({ place: from + index, part }));
    const { state: endState = null, error = null } = end ?? {};
    const errorText = error === null ? null : sanitisedText(error);
    return this.changesRow(
      `WITH run AS (
         UPDATE assistant_chats SET held_until = ${leaseEnd}, usage = $3, updated_at = now(),
           state = CASE WHEN state = 'running' THEN coalesce($6::text, state) ELSE state END,
           error = CASE WHEN state = 'running' THEN $7::text ELSE error END
         WHERE id = $1 AND run_id = $2 AND (state = 'running' OR $6::text IS NOT NULL) RETURNING id
       ), ${from > 0 ? putParts : putMessage}
       SELECT 1 FROM run`,
      [
        id,
        runId,
        storableJson(usage),
        position,
        storableJson(from > 0 ? parts : message),
        endState,
        errorText,
      ],
    );
  }

  /** Stops the turn of a chat. @returns false if none ran or waited */
  stop({ owner, project }: ChatOwner, id: string): Promise<boolean> {
    return this.changesRow(
      `UPDATE assistant_chats SET state = 'stopped', error = NULL, updated_at = now()
       WHERE ${isOwn} AND state IN ('running', 'waiting') RETURNING 1`,
      [id, owner, project],
    );
  }

  /** Runs a statement. @returns whether a row was changed. TypeORM answers UPDATE and DELETE with the rows and their number. */
  private async changesRow(sql: string, parameters: unknown[]): Promise<boolean> {
    const answer = await this.db.query<unknown[]>(sql, parameters);
    return answer.length > 0 && answer[1] !== 0;
  }
}
