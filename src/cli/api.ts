import { createClient, createConfig, type Client } from '../client/client/index.js';
import { CliError, exit } from './exit.js';
import { patientFetch } from './patient-fetch.js';
import type { ServerAddress } from './surroundings.js';

/** The generated client, speaking to one server. */
export function apiOf({ url, key }: ServerAddress): Client {
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
