import { Agent, type BodyInit as Body, fetch } from 'undici';
import type { Command } from 'commander';
import type { ProblemView, UnconfirmedView } from '../../client/index.js';
import { type Client, createClient, createConfig } from '../../client/client/index.js';
import { type ServerAddress, Surroundings } from './surroundings.js';
import { CliError, exit, Output } from './output.js';

declare global {
  /** The generated client knows this type from browsers; Node's own types leave it out. */
  type BodyInit = Body;
}

/** An agent without undici's timeouts of 300 s, because a call may take an hour and has its own limit. */
const patientAgent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** `fetch` without a timeout. */
export const patientFetch: typeof globalThis.fetch = async (input, init) => {
  // The parts are copied, because a copied Request follows the original's signal only until it is garbage collected.
  const request = input instanceof Request ? input : new Request(input, init);
  const { method, headers, signal, url } = request;
  const body = request.body === null ? null : Buffer.from(await request.arrayBuffer());
  const answer = await fetch(url, { method, headers: [...headers], body, signal, dispatcher: patientAgent });
  // undici's Response is the global class by another name.
  return answer;
};

/** The generated client for one server. */
function apiOf({ url, key }: ServerAddress): Client {
  return createClient(
    createConfig({
      baseUrl: url,
      fetch: patientFetch,
      ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
    }),
  );
}

/** A result of the generated client. */
interface Answered<T> {
  readonly data?: T | undefined;
  readonly error?: unknown;
  readonly response?: Response | undefined;
}

/** Waits for the answer to a request. @returns its body @throws CliError with the server's problem, or if no server answers */
export async function ask<T>(request: Promise<Answered<T>>): Promise<T> {
  const { data, error, response } = await request.catch((failure: unknown) => ({
    data: undefined,
    error: failure,
    response: undefined,
  }));
  if (response === undefined) throw unreachable(error);
  if (response.status === 202) warnIfUnconfirmed(data);
  if (response.ok) return data as T;
  throw new CliError(sentenceOf(error ?? {}, response), exit.failed, error);
}

/** Warns on stderr about replicas that have not confirmed a change. */
function warnIfUnconfirmed(answer: unknown): void {
  const { missing = [] } = answer as Partial<UnconfirmedView>;
  if (missing.length > 0)
    process.stderr.write(`Done, but not confirmed by ${missing.join(', ')} (GET /api/v1/replicas)\n`);
}

/** The error if no server answers. */
function unreachable(error: unknown): CliError {
  const { cause, message } = error as Error;
  const why = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : message;
  return new CliError(
    `no server answers (${why}): start one by npm start, or by toolkeeper start; or name it by --url`,
    exit.unreachable,
  );
}

/** A server's problem as text. @param problem empty if another program answers */
function sentenceOf(problem: Partial<ProblemView>, { status, statusText }: Response): string {
  const { code, detail, errors = [] } = problem;
  const text = detail === undefined ? `${status} ${statusText}` : `${detail} (${code})`;
  const fields = errors.length > 1 ? errors.map(({ pointer, detail: why }) => `\n  ${pointer} ${why}`) : [];
  const hint =
    status === 401
      ? '\n  set TOOLKEEPER_KEY; a server of this machine is found with its key where TOOLKEEPER_DATA_DIR is its own'
      : '';
  return `${text}${fields.join('')}${hint}`;
}

/** The server, output and surroundings of a command. */
export interface Session {
  readonly client: Client;
  readonly out: Output;
  readonly surroundings: Surroundings;
}

/** Options that all commands have. */
interface GlobalOptions {
  readonly url?: string;
  readonly json?: boolean;
}

/** The session of a command, from its options and the environment. */
export function sessionOf(command: Command): Session {
  const options = command.optsWithGlobals<GlobalOptions>();
  const surroundings = new Surroundings(options);
  return { client: apiOf(surroundings.server()), out: new Output(options.json === true), surroundings };
}

/** All entries of a paginated list. @param pageAt requests one page */
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
