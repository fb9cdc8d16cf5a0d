import { QueryFailedError } from 'typeorm';
import { redacted, withoutStatement } from './logging.module.js';
import { levelOfStatus } from './request-log.js';

describe('redacted', () => {
  it('hides the password of every URL', () => {
    const line =
      '{"msg":"postgres://me:s3cret@db/x failed","url":"redis://:pw@cache:6379","ok":"http://host:80/a@b"}';
    expect(redacted(line, undefined)).toBe(
      '{"msg":"postgres://me:[redacted]@db/x failed","url":"redis://:[redacted]@cache:6379","ok":"http://host:80/a@b"}',
    );
  });

  it('hides the bootstrap key wherever it stands', () => {
    expect(redacted('{"msg":"key abcdefghijklmnop"}', 'abcdefghijklmnop')).toBe('{"msg":"key [redacted]"}');
  });
});

describe('withoutStatement', () => {
  it("keeps a failed statement's message and leaves its rows out", () => {
    const error = new QueryFailedError('INSERT INTO tools', ['{"TOKEN":"s3cret"}'], new Error('too long'));
    const logged = withoutStatement(error);
    expect(logged).toMatchObject({ message: 'too long', stack: expect.any(String) });
    expect(JSON.stringify(logged)).not.toContain('s3cret');
  });

  it.each(['Unexpected end of JSON input', undefined, null])(
    'leaves alone what is no error: %j',
    (reason) => {
      expect(withoutStatement(reason)).toBe(reason);
    },
  );
});

describe('levelOfStatus', () => {
  it.each([
    [200, 'debug'],
    [302, 'debug'],
    [404, 'info'],
    [401, 'info'],
    [429, 'debug'],
    [503, 'debug'],
    [500, 'error'],
  ])('logs %d at %s', (statusCode, level) => expect(levelOfStatus(statusCode)).toBe(level));
});
