import { client } from '../../../client/client.gen.js';
import type { FieldProblemView, ProblemView } from '../../../client/index.js';
import { isObject } from './exact-json.js';
import { csrfToken } from './csrf-token.js';
import { serverUrl } from './server-url.js';

/** The generated client. All other files import it from here. */
export * from '../../../client/index.js';
export { client };

client.setConfig({ baseUrl: serverUrl });
client.interceptors.request.use((request) => {
  const token = csrfToken.read();
  if (token !== null && request.method !== 'GET') request.headers.set('x-toolkeeper-session', token);
  return request;
});

// A token that no longer matches its cookie is dropped, so that the next action asks for a key. Reports are no actions.
client.interceptors.response.use((response, { method }) => {
  const isAction = method !== 'GET' && !/\/api\/v1\/(session$|ui\/)/.test(new URL(response.url).pathname);
  if (response.status === 401 && isAction) csrfToken.forget();
  return response;
});

/** Emits the replicas that have not confirmed an act, as the server names them. */
export const unconfirmed = new EventTarget();
client.interceptors.response.use(async (response) => {
  if (response.status !== 202) return response;
  const body: unknown = await response.clone().json();
  if (isObject(body) && Array.isArray(body['missing']))
    unconfirmed.dispatchEvent(new CustomEvent('missing', { detail: body['missing'].join(', ') }));
  return response;
});

/** A failed request, with the server's message if there is one. */
export class ApiError extends Error {
  readonly title: string;
  /** One of the codes of docs/agents/errors.md, or `unreachable`. */
  readonly code: string;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly fields: readonly FieldProblemView[];
  /** Seconds after which the request may be repeated. */
  readonly retryAfter: number | undefined;

  constructor(problem: Partial<ProblemView>, response?: Response) {
    super(problem.detail ?? 'The server does not answer.');
    this.title = problem.title ?? 'No answer';
    this.code = problem.code ?? 'unreachable';
    this.status = problem.status ?? response?.status ?? 0;
    this.requestId = problem.requestId;
    this.fields = problem.errors ?? [];
    this.retryAfter = Number(response?.headers.get('retry-after')) || undefined;
  }
}

/** The server's errors about the members with one of these names, and below them. */
export const wrongOf = (problems: readonly FieldProblemView[], ...names: string[]): string | undefined =>
  problems
    .filter(({ pointer }) => names.includes(pointer.split('/')[1] ?? ''))
    .map(({ detail }) => detail)
    .join('; ') || undefined;

/** Converts any thrown value to a readable error. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError({
    title: 'This did not work',
    detail: error instanceof Error ? error.message : String(error),
  });
}

interface Answered<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response?: Response;
}

/** @returns the data of an answer @throws ApiError */
export async function ask<T>(answer: Promise<Answered<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (response?.ok === true) return data as T;
  throw failureOf(error, response);
}

/** @returns null if the server answers 404 */
export async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** The error of a failed response: the server's problem, or its raw text. */
export const failureOf = (error: unknown, response: Response | undefined): ApiError =>
  new ApiError(isObject(error) ? error : {}, response);
