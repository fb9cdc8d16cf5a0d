import { type Client, createClient, createConfig } from '../../client/client/index.js';
import { CliError, exit, Output } from './output.js';
import { Agent, type BodyInit as Body, fetch } from 'undici';
import type { Command } from 'commander';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import { projectRoot } from '../common/project.js';
import { runningServer } from '../common/server-file.js';

declare global {
  /** The generated client knows this type from browsers; Node's own types leave it out. */
  type BodyInit = Body;
}

/** Node's own fetch gives up after 300 s without an answer, and a call may take an hour: the tool's limit ends it. */
const patient = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

export const patientFetch: typeof globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  const { method, headers, signal, url } = request;
  const body = request.body === null ? null : Buffer.from(await request.arrayBuffer());
  const answer = await fetch(url, { method, headers: [...headers], body, signal, dispatcher: patient });
  // The same class by another name.
  return answer;
};

/** The generated client, speaking to one server. */
function apiOf({ url, key }: ServerAddress): Client {
  return createClient(
    createConfig({
      baseUrl: url,
      fetch: patientFetch,
      ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
    }),
  );
}

interface Answered<T> {
  readonly data?: T | undefined;
  readonly error?: unknown;
  readonly response?: Response | undefined;
}

/** A problem, as the server tells it. */
interface ToldProblem {
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

/**
 * What the server answered.
 * @throws CliError with its problem, or when none answers
 */
export async function ask<T>(asked: Promise<Answered<T>>): Promise<T> {
  const { data, error, response } = await asked.catch((failure: unknown) => ({
    data: undefined,
    error: failure,
    response: undefined,
  }));
  if (response === undefined) throw unreachable(error);
  if (response.ok) return data as T;
  throw new CliError(sentenceOf(error ?? {}, response), exit.no, error);
}

function unreachable(error: unknown): CliError {
  const { cause, message } = error as Error;
  const why = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : message;
  return new CliError(
    `no server answers (${why}): start one by npm start, or by toolkeeper start; or name it by --url`,
    exit.unreachable,
  );
}

function sentenceOf({ code, detail, errors = [] }: ToldProblem, { status, statusText }: Response): string {
  const said = detail === undefined ? `${status} ${statusText}` : `${detail} (${code})`;
  const fields = errors.length > 1 ? errors.map(({ pointer, detail: why }) => `\n  ${pointer} ${why}`) : [];
  const hint =
    status === 401
      ? '\n  set TOOLKEEPER_KEY; a server of this machine is found with its key where TOOLKEEPER_DATA_DIR is its own'
      : '';
  return `${said}${fields.join('')}${hint}`;
}

/** The environment of a command: files, streams and settings. */
export interface Session {
  readonly client: Client;
  readonly out: Output;
  readonly surroundings: Surroundings;
}

interface GlobalOptions {
  readonly url?: string;
  readonly json?: boolean;
}

export function sessionOf(command: Command): Session {
  const options = command.optsWithGlobals<GlobalOptions>();
  const surroundings = new Surroundings(options);
  return { client: apiOf(surroundings.server()), out: new Output(options.json === true), surroundings };
}

/** Every entry of a list, whatever the number of its pages. */
export async function allOf<T>(
  pageAt: (query: {
    limit: number;
    cursor?: string;
  }) => Promise<{ readonly data: readonly T[]; readonly nextCursor?: string | null }>,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | null | undefined;
  do {
    const { data, nextCursor } = await pageAt({ limit: 100, ...(cursor && { cursor }) });
    all.push(...data);
    cursor = nextCursor;
  } while (cursor);
  return all;
}

/** Where commands go, and what they show there. */
export interface ServerAddress {
  readonly url: string;
  readonly key: string | undefined;
}

/** What stands around a command; only this file of the command line reads the environment. */
export class Surroundings {
  readonly root = projectRoot();
  /** A package among others has its data in the home directory, for npm may remove its folder; a clone in its own. */
  readonly dataDir: string;
  /** Named by hand; undefined: the server of the data directory. */
  readonly url: string | undefined;

  constructor(
    { url }: { readonly url?: string | undefined },
    readonly environment: NodeJS.ProcessEnv = process.env,
  ) {
    const isInstalled = this.root.split(sep).includes('node_modules');
    const folder = environment['TOOLKEEPER_DATA_DIR'];
    this.dataDir = folder
      ? resolve(this.root, folder)
      : join(isInstalled ? homedir() : this.root, '.toolkeeper');
    this.url = url ?? (environment['TOOLKEEPER_URL'] || undefined);
  }

  /** The key of the data directory is shown to the server of that directory alone: any program may listen on a port. */
  server(): ServerAddress {
    const running = runningServer(this.dataDir);
    const url = this.url ?? running?.url ?? `http://127.0.0.1:${this.environment['PORT'] || '3000'}`;
    const given = this.environment['TOOLKEEPER_KEY'];
    const own = running && isSame(url, running.url) ? this.ownKey() : undefined;
    return { url: url.replace(/\/+$/, ''), key: given || own };
  }

  private ownKey(): string | undefined {
    const configured = this.environment['ADMIN_API_KEY'];
    if (configured) return configured;
    try {
      return readFileSync(join(this.dataDir, 'admin.key'), 'utf8').trim();
    } catch {
      return undefined;
    }
  }
}

/** Whether two addresses are one, also where loopback is named in another way. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [URL.parse(one), URL.parse(other)];
  const host = (url: URL): string => url.host.replace(/^(localhost|\[::1\])/, '127.0.0.1');
  return a !== null && b !== null && a.protocol === b.protocol && host(a) === host(b);
}
