import { Inject, Injectable } from '@nestjs/common';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Problem } from '../../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { Replicas } from '../../../base/database/replicas.js';
import { HttpClient } from '../../../base/outbound/http-client.js';
import type { Placed } from '../../../base/streams/event-ring.js';
import { type LogEntry, ToolLogs } from './tool-logs.js';

/** Lines of one replica or of all, oldest first. */
interface LogPage {
  readonly data: Placed<LogEntry>[];
  /** Position from which the next page begins: the last id read of each replica's log, joined by commas. */
  readonly nextSince: string | null;
  /** Number of lines after the requested position that were dropped before they were read. */
  readonly missed: number;
  /** Whether a replica did not answer within a second. */
  readonly partial: boolean;
}

/** Header with a replica's signature for another replica. */
export const replicaHeader = 'x-toolkeeper-replica';
const signatureMs = 30_000;
/** Accepted validity, longer than `signatureMs` because the clocks of replicas may differ. */
const maxValidityMs = 60_000;
/** Max ids in `nextSince`: logs of replicas that are long gone are left out. */
const maxPositions = 256;

/** Reads a tool's log from all replicas. Each keeps its own lines in memory, and requests those of the others. */
@Injectable()
export class FleetLogs {
  /** The first key signs; all are accepted, so that SECRETS_KEY can be replaced. */
  private readonly keys: readonly Buffer[];

  constructor(
    @Inject(APP_CONFIG) { secrets }: Pick<AppConfig, 'secrets'>,
    private readonly replicas: Replicas,
    private readonly logs: ToolLogs,
  ) {
    this.keys = secrets.keys.map((key) => createHmac('sha256', key).update('toolkeeper replicas').digest());
  }

  /** A page of all replicas' lines. @param since `nextSince` of the page before @throws the database's error */
  async read(tool: string, limit: number, since: string | undefined): Promise<LogPage> {
    const { count, id: self } = this.replicas;
    const others = count > 1 ? (await this.replicas.alive()).filter(({ id }) => id !== self) : [];
    const query = new URLSearchParams({ limit: String(limit), ...(since !== undefined && { since }) });
    const path = `/api/v1/custom-tools/${encodeURIComponent(tool)}/logs/own?${query.toString()}`;
    const answers = await Promise.all(others.map(({ address }) => this.ask(address, path)));
    const pages = [this.ownPage(tool, limit, since), ...answers.filter((page) => page !== undefined)];
    return { ...mergePages(pages, limit, since), partial: pages.length <= others.length };
  }

  ownPage(tool: string, limit: number, since: string | undefined): LogPage {
    const { entries: data, last = null, missed } = this.logs.open(tool).ring.slice(limit, since);
    return { data, nextSince: last, missed, partial: false };
  }

  /** Checks a request of another replica. @throws Problem `not_found` unless it was recently signed for this path */
  admit(path: string, header: unknown): void {
    const [expiry = ''] = String(header).split('.');
    const given = Buffer.from(String(header));
    const isSigned = this.keys
      .map((key) => Buffer.from(sign(key, expiry, path)))
      .some((expected) => given.length === expected.length && timingSafeEqual(given, expected));
    const validForMs = Number(expiry) - Date.now();
    if (!isSigned || !(validForMs > 0 && validForMs <= maxValidityMs))
      throw new Problem('not_found', 'Only replicas with the same SECRETS_KEY may ask for this.');
  }

  /** Requests the lines of a replica. @returns undefined if it does not answer with a page in time */
  private async ask(origin: string | null, path: string): Promise<LogPage | undefined> {
    const [key] = this.keys;
    if (origin === null || !key) return undefined;
    const headers = { [replicaHeader]: sign(key, String(Date.now() + signatureMs), path) };
    let http: HttpClient | undefined;
    try {
      const limits = { connections: 1, timeoutMs: 1_000, maxResponseBytes: 1_048_576 };
      http = new HttpClient({ origin, ...limits, isDirect: true });
      const answer = await http.ask({ method: 'GET', path, headers });
      return isPage(answer) ? answer : undefined;
    } catch {
      return undefined;
    } finally {
      await http?.close();
    }
  }
}

/** Whether an answer of another replica is a page of its log. */
function isPage(answer: unknown): answer is LogPage {
  const { data, nextSince, missed } = (answer ?? {}) as Partial<LogPage>;
  const isLine = (line: Partial<Placed<LogEntry>> | null): boolean =>
    typeof line?.id === 'string' && typeof line.timestamp === 'string';
  const hasPosition = nextSince === null || typeof nextSince === 'string';
  return Array.isArray(data) && data.every(isLine) && hasPosition && Number.isSafeInteger(missed);
}

/** Signs a path until a time. @param expiry milliseconds since the epoch @returns `<expiry>.<HMAC>` */
const sign = (key: Buffer, expiry: string, path: string): string =>
  `${expiry}.${createHmac('sha256', key).update(`${expiry} ${path}`).digest('base64url')}`;

/** The part that all ids of one replica's log share. */
const logOf = (id: string): string | undefined => id.split('-')[0];

/**
 * Merges the replicas' pages into one: the next lines after `since`, else the latest ones. If lines of a log are left out,
 * the next page begins with them.
 */
function mergePages(pages: readonly LogPage[], limit: number, since?: string): Omit<LogPage, 'partial'> {
  const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
  const all = pages.flatMap(({ data }) => data).sort((a, b) => compare(a.timestamp, b.timestamp));
  const data = since === undefined ? all.slice(-limit) : all.slice(0, limit);
  const taken = new Set(data);
  let positions = since?.split(',') ?? [];
  for (const { data: lines, nextSince } of pages) {
    // The latest lines end each log; after `since` a log is read up to the last line that was taken.
    const isAtEnd = since === undefined || lines.length === 0;
    const position = isAtEnd ? nextSince : lines.findLast((line) => taken.has(line))?.id;
    if (position) positions = [...positions.filter((id) => logOf(id) !== logOf(position)), position];
  }
  const missed = pages.reduce((sum, page) => sum + page.missed, 0);
  return { data, nextSince: positions.slice(-maxPositions).join(',') || null, missed };
}
