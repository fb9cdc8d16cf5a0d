import { DatabaseUnavailable, isDatabaseUnavailable } from '../common/errors.js';
import { isTransient, retryAtStart } from './transient-error.js';

const withCode = (code: string) => Object.assign(new Error('x'), { code });
const failed = (driverError: Error) => Object.assign(new Error('x'), { driverError });

describe('isTransient', () => {
  it.each(['ECONNREFUSED', 'EAI_AGAIN', '57P03', '53300'])('%s may pass', (code) =>
    expect(isTransient(withCode(code))).toBe(true),
  );
  it.each(['28P01', '3D000', '42601'])('%s does not pass by itself', (code) =>
    expect(isTransient(withCode(code))).toBe(false),
  );
  it('knows the timeouts of the driver, which have no code', () => {
    expect(isTransient(new Error('timeout expired'))).toBe(true);
    expect(isTransient(new Error('Connection terminated due to connection timeout'))).toBe(true);
    expect(isTransient(new Error('Query read timeout'))).toBe(false);
    expect(isTransient('text')).toBe(false);
  });
});

describe('isDatabaseUnavailable', () => {
  it.each([
    ...['ECONNREFUSED', 'EPIPE', '08006', '53300', '57P01', '57P03', '57014', '25P03', '28P01', '3D000'],
  ])('%s of a statement: it could not be asked', (code) =>
    expect(isDatabaseUnavailable(failed(withCode(code)))).toBe(true),
  );

  it.each(['23505', '42601', '22P02', '40001'])('%s: it answered', (code) =>
    expect(isDatabaseUnavailable(failed(withCode(code)))).toBe(false),
  );

  it.each([
    'timeout exceeded when trying to connect',
    'Connection terminated due to connection timeout',
    'Connection terminated unexpectedly',
    'Query read timeout',
    'Client has encountered a connection error and is not queryable',
  ])('knows what the driver says without a code: %s', (message) =>
    expect(isDatabaseUnavailable(failed(new Error(message)))).toBe(true),
  );

  it('leaves errors of others alone', () => {
    expect(isDatabaseUnavailable(new DatabaseUnavailable('x'))).toBe(true);
    for (const other of [withCode('ECONNREFUSED'), new Error('Query read timeout'), 'text', null])
      expect(isDatabaseUnavailable(other)).toBe(false);
  });
});

describe('retryAtStart', () => {
  it('repeats what the database did not answer', async () => {
    const answers = [failed(new Error('Connection terminated: the server does not answer')), 'rows'];
    const read = async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    };
    await expect(retryAtStart(read)).resolves.toBe('rows');
  });

  it('passes on what the database answered', async () => {
    const wrong = failed(withCode('42601'));
    await expect(retryAtStart(() => Promise.reject(wrong))).rejects.toBe(wrong);
  });
});
