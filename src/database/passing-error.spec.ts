import { isPassing } from './passing-error.js';

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
