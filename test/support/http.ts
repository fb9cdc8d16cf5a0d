import supertest, { type CallbackHandler, type Response, type Test } from 'supertest';

const maxExcerptLength = 2_000;

/** supertest, but an unexpected status is told with the answer's body: there stands why. */
const { Test: Request } = supertest;
const end = Object.getOwnPropertyDescriptor(Request.prototype, 'end')?.value as (
  this: Test,
  callback?: CallbackHandler,
) => Test;
Request.prototype.end = function (this: Test, callback?: CallbackHandler) {
  return end.call(this, callback && ((error, response) => callback(withAnswer(error, response), response)));
};

function withAnswer(error: unknown, response: Response | undefined): unknown {
  if (!(error instanceof Error) || !/, got \d{3} "[^"]*"$/.test(error.message)) return error;
  const { message, stack } = error;
  error.message = `${message}: ${response?.text.slice(0, maxExcerptLength) ?? 'no body'}`;
  // What Jest shows.
  error.stack = stack?.replace(message, () => error.message) ?? '';
  return error;
}

export { supertest };
export type { Test };
