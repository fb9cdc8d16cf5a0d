import { Inject, Injectable } from '@nestjs/common';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { unauthorized } from '../../auth/access-policy.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { type Replica, Replicas } from '../../database/replicas.js';
import { HttpClient } from '../../outbound/http-client.js';
import { type LogPage, mergedPage } from './log-page.js';
import { ToolLogs } from './tool-logs.js';

/** The header in which a replica shows another one its signature. */
export const replicaHeader = 'x-toolkeeper-replica';

const askMs = 1_000;
const signatureMs = 30_000;

/** A tool's log from all replicas. Each keeps its own in memory, and asks the others when it is asked. */
@Injectable()
export class FleetLogs {
  /** The first one signs; all are accepted, so that SECRETS_KEY can be renewed. */
  private readonly keys: readonly Buffer[];
  private readonly maxResponseBytes: number;

  constructor(
    @Inject(APP_CONFIG) { secrets, toolLogs }: Pick<AppConfig, 'secrets' | 'toolLogs'>,
    private readonly replicas: Replicas,
    private readonly logs: ToolLogs,
  ) {
    this.keys = secrets.keys.map((key) => createHmac('sha256', key).update('toolkeeper replicas').digest());
    this.maxResponseBytes = 2 * toolLogs.maxBytes;
  }

  /** @returns `partial`: a replica did not answer. @throws the database's error */
  async read(
    tool: string,
    limit: number,
    since: readonly string[],
  ): Promise<LogPage & { readonly partial: boolean }> {
    const own = this.own(tool, limit, since);
    if (this.replicas.count < 2) return { ...own, partial: false };
    const others = (await this.replicas.alive()).filter(({ id }) => id !== this.replicas.id);
    const path = pathOf(tool, limit, since);
    const answers = await Promise.all(others.map((other) => this.ask(other, path)));
    const pages = [own, ...answers.filter((answer) => answer !== undefined)];
    const partial = pages.length <= others.length;
    return { ...mergedPage(pages, { limit, since, keepsPlaces: partial }), partial };
  }

  /** The lines of this replica. */
  own(tool: string, limit: number, since: readonly string[]): LogPage {
    const { ring } = this.logs.open(tool);
    const id = since.find((each) => ring.knows(each)) ?? since[0];
    const { entries, last, missed } = ring.slice(limit, id);
    return { data: entries, nextSince: last ?? null, missed };
  }

  /** @throws Problem `unauthorized` unless another replica signed this path a moment ago */
  admit(path: string, header: unknown): void {
    const [expiry = '', signature = ''] = String(header).split('.');
    const given = Buffer.from(signature, 'base64url');
    const isSigned = this.keys
      .map((key) => signatureOf(key, expiry, path))
      .some((expected) => given.length === expected.length && timingSafeEqual(given, expected));
    if (!isSigned || !(Number(expiry) > Date.now()))
      throw unauthorized('Only other replicas with the same SECRETS_KEY may ask this.');
  }

  /** @returns undefined if it does not answer in time, or knows neither key nor route */
  private async ask({ address }: Replica, path: string): Promise<LogPage | undefined> {
    const [key] = this.keys;
    if (address === null || !key) return undefined;
    const { maxResponseBytes } = this;
    const http = new HttpClient({ origin: address, connections: 1, timeoutMs: askMs, maxResponseBytes });
    const expiry = String(Date.now() + signatureMs);
    const signature = signatureOf(key, expiry, path).toString('base64url');
    try {
      const headers = { [replicaHeader]: `${expiry}.${signature}` };
      return (await http.ask({ method: 'GET', path, headers })) as LogPage;
    } catch {
      return undefined;
    } finally {
      await http.close();
    }
  }
}

function pathOf(tool: string, limit: number, since: readonly string[]): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (since.length > 0) query.set('since', since.join(','));
  return `/api/v1/custom-tools/${encodeURIComponent(tool)}/logs/own?${query.toString()}`;
}

const signatureOf = (key: Buffer, expiry: string, path: string): Buffer =>
  createHmac('sha256', key).update(`${expiry} ${path}`).digest();
