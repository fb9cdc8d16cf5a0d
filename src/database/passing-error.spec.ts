import { isPassing, whyUnavailable } from './passing-error.js';

const withCode = (code: string) => Object.assign(new Error('x'), { code });

describe('isPassing', () => {
  it.each(['ECONNREFUSED', 'EAI_AGAIN', '57P03', '53300'])('%s may pass', (code) =>
    expect(isPassing(withCode(code))).toBe(true),
  );
  it.each(['28P01', '3D000', '42601'])('%s does not pass by itself', (code) =>
    expect(isPassing(withCode(code))).toBe(false),
  );
  it('knows the time-outs of the driver, which have no code', () => {
    expect(isPassing(new Error('timeout expired'))).toBe(true);
    expect(isPassing(new Error('Connection terminated due to connection timeout'))).toBe(true);
    expect(isPassing(new Error('Query read timeout'))).toBe(false);
    expect(isPassing('text')).toBe(false);
  });
});

describe('whyUnavailable', () => {
  it.each(['ECONNREFUSED', 'EPIPE', '08006', '53300', '57P01', '57P03', '25P03', '28P01', '3D000'])(
    '%s: it cannot be asked',
    (code) => expect(whyUnavailable(withCode(code))).toEqual({ reason: 'x', tooSlow: false }),
  );

  it('tells a statement that took too long apart', () =>
    expect(whyUnavailable(withCode('57014'))).toEqual({ reason: 'x', tooSlow: true }));

  it.each(['23505', '42601', '22P02', '40001', 'EACCES'])('%s: it answered', (code) =>
    expect(whyUnavailable(withCode(code))).toBeUndefined(),
  );

  it.each([
    'timeout exceeded when trying to connect',
    'Connection terminated due to connection timeout',
    'Connection terminated unexpectedly',
    'Query read timeout',
    'Client has encountered a connection error and is not queryable',
  ])('knows what the driver says without a code: %s', (message) =>
    expect(whyUnavailable(new Error(message))).toEqual({ reason: message, tooSlow: false }),
  );

  it('says of a host with several addresses what one of them said', () => {
    const error = Object.assign(new AggregateError([new Error('refused')], ''), { code: 'ECONNREFUSED' });
    expect(whyUnavailable(error)).toEqual({ reason: 'refused', tooSlow: false });
    for (const other of [new Error('a bug'), 'text', null]) expect(whyUnavailable(other)).toBeUndefined();
  });
});
