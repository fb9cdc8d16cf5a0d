import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { findInSpan, findSemanticError, scannedLength, errorPatterns } from './find-semantic-error.js';
import { isSelfReported } from './self-reported.js';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

describe('each pattern', () => {
  const texts: Readonly<Record<string, { matches: readonly string[]; passes: readonly string[] }>> = {
    'error:': {
      matches: [
        'Error: boom',
        'error: no such file',
        'TypeError: x is no function',
        '{"error":"no such host"}',
        String.raw`"{\"error\": \"x\"}"`,
      ],
      passes: [
        '{"error":null}',
        '{"error":""}',
        'error: none',
        'error: no',
        'Mean error: 0.02',
        String.raw`{\"error\":\"\"}`,
        'terror',
      ],
    },
    exception: {
      matches: ['java.io.IOException', 'An exception was thrown', '2 exceptions'],
      passes: ['exceptional weather', 'with the exception of Sundays', 'no exceptions', '"exceptions": 0'],
    },
    'failed to': { matches: ['Failed to open the file'], passes: ['failed today', '0 failed'] },
    unauthorized: { matches: ['401 Unauthorized', 'unauthorised'], passes: ['authorized'] },
    forbidden: { matches: ['403 Forbidden'], passes: ['forbid'] },
    'connection refused': {
      matches: ['Connection refused', 'connect ECONNREFUSED ::1'],
      passes: ['refused to sign'],
    },
    'network error': { matches: ['Network error', 'MongoNetworkError'], passes: ['network policy'] },
    'not found': {
      matches: ['404 Not Found', 'NotFound', 'channel_not_found'],
      passes: ['found', 'not profound'],
    },
    'does not exist': { matches: ['relation "x" does not exist'], passes: ['exists'] },
    'cannot be found': {
      matches: ['The user cannot be found', "It can't be found"],
      passes: ['to be found'],
    },
    'no … found': {
      matches: ['No results found', 'no matching customers were found'],
      passes: ['No errors found', `no ${'x'.repeat(100)} found`, 'no\nfound'],
    },
    timeout: {
      matches: ['Gateway Timeout', 'Operation timed out', 'TimeoutError'],
      passes: ['"timeoutMs": 3000', 'timeout=30'],
    },
    'rate limit': {
      matches: ['Rate limit exceeded', 'rate_limited'],
      passes: ['x-rate-limit-remaining: 59'],
    },
    invalid: { matches: ['Invalid API key', 'invalid_grant'], passes: ['invalidated the cache'] },
    missing: { matches: ['Missing parameter'], passes: ['dismissing'] },
    'null pointer': { matches: ['null pointer dereference', 'NullPointer'], passes: ['null'] },
    undefined: { matches: ['Hello undefined!'], passes: ['undefinedBehaviour'] },
  };

  it.each(errorPatterns)('$name', ({ name, literals = [name], regex }) => {
    const { matches, passes } = texts[name] ?? { matches: [], passes: [] };
    const found = (text: string): boolean =>
      literals.some((literal) => text.toLowerCase().includes(literal)) && regex.test(text);
    expect(matches.filter((text) => !found(text))).toEqual([]);
    expect(passes.filter(found)).toEqual([]);
    expect([matches.length, passes.length]).not.toContain(0);
  });

  it('stands in the page on semantic errors as it is', () => {
    const rows = read('docs/agents/span-reference.md').match(/^\| `.*\| (?:high|medium|low) \|.*$/gm) ?? [];
    expect(rows).toEqual(
      errorPatterns.map(({ name, severity, meaning }) => `| \`${name}\` | ${severity} | ${meaning} |`),
    );
  });
});

describe('a finding', () => {
  it('is the most severe match, then the first one', () => {
    expect(findSemanticError('missing key, not found; then failed to save, Error: full')).toEqual({
      pattern: 'failed to',
      severity: 'high',
      snippet: 'missing key, not found; then failed to save, Error: full',
    });
    expect(findSemanticError('invalid or missing; timed out; not found')).toMatchObject({
      pattern: 'timeout',
    });
    expect(findSemanticError('All 14 files were saved.')).toBeUndefined();
  });

  it('is looked for in the beginning and the end of a long text', () => {
    const filler = 'all is well. '.repeat(10_000);
    expect(findSemanticError(`Error: x ${filler}`)).toBeDefined();
    expect(findSemanticError(`${filler} Error: x`)).toBeDefined();
    expect(findSemanticError(`${filler} Error: x ${filler}`)).toBeUndefined();
  });

  it('shows 200 characters at most, and no secret', () => {
    const text = `url postgres://app:hunter2@db/x, Authorization: Bearer abc.def-123, password=opensesame, key sk-abcdefghijkl1234, ${'x9'.repeat(40)}`;
    const { snippet } = findSemanticError(`${text} Error: refused for amy@example.com ${text}`) ?? {
      snippet: '',
    };
    expect(snippet.length).toBeLessThanOrEqual(200);
    for (const secret of ['hunter2', 'abc.def', 'opensesame', 'abcdefghijkl', 'x9x9', 'amy@'])
      expect(snippet).not.toContain(secret);
    expect(snippet).toContain('Error: refused for [redacted]');
  });

  it.each([
    'no ',
    'error ',
    'error" : null ',
    'time',
    'a',
    'x9',
    'exception: 0 ',
    'rate-limit-',
    'timeout',
    '\\"error\\":',
  ])('takes no longer for texts of %j', (piece) => {
    const text = piece.repeat(Math.ceil(scannedLength / piece.length));
    findSemanticError(text);
    const best = Math.min(
      ...Array.from({ length: 5 }, () => {
        const begun = performance.now();
        const found = findSemanticError(text);
        if (found) isSelfReported(text, found);
        return performance.now() - begun;
      }),
    );
    expect(best).toBeLessThan(50);
  });
});

describe('of a span', () => {
  it('outputs and what tools answered are read', () => {
    const toolMessages = ['{"error":"no such table"}'];
    expect(findInSpan(['Not found, I am afraid'], toolMessages)).toMatchObject({
      source: 'input',
      severity: 'high',
    });
    expect(findInSpan(['Error: x'], toolMessages)).toMatchObject({ source: 'output' });
    expect(findInSpan(['Fine'], [])).toBeUndefined();
  });
});

describe('a mark', () => {
  const { failed, fine } = parse(read('test/fixtures/semantic-errors/answers.yaml')) as Record<
    'failed' | 'fine',
    readonly string[]
  >;
  const isMarked = (text: string): boolean => {
    const found = findSemanticError(text);
    return found !== undefined && isSelfReported(text, found);
  };

  it('is right in 19 of 20 cases, and found for most answers that only tell of a failure', () => {
    const [right, wrong] = [failed.filter(isMarked).length, fine.filter(isMarked).length];
    expect(failed.length + fine.length).toBeGreaterThanOrEqual(200);
    expect(right / (right + wrong)).toBeGreaterThanOrEqual(0.95);
    expect(right / failed.length).toBeGreaterThanOrEqual(0.6);
  });

  it('needs more than a severe pattern, which most of the good answers have as well', () => {
    const severe = (text: string): boolean => findSemanticError(text)?.severity === 'high';
    expect(fine.filter(severe).length).toBeGreaterThan(80);
    expect(isSelfReported('404 Not Found', { severity: 'medium' })).toBe(false);
  });

  it('is the same for a text as JSON', () => {
    for (const text of [...failed, ...fine])
      expect([text, isMarked(JSON.stringify(text))]).toEqual([text, isMarked(text)]);
  });
});
