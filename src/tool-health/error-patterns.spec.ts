import { errorPatterns } from './error-patterns.js';

describe('errorPatterns', () => {
  it('is empty, messages included, without failures', () => {
    expect(errorPatterns('search', [])).toEqual({
      toolName: 'search',
      totalErrors: 0,
      patterns: [],
      recentMessages: [],
    });
  });

  it('counts types, most frequent first, and keeps the order of equals', () => {
    const types = ['timeout', 'validation', null, 'crash', 'validation', undefined, 'crash', 'crash'];
    const { totalErrors, patterns } = errorPatterns(
      'search',
      types.map((errorType) => ({ errorType })),
    );
    expect(totalErrors).toBe(8);
    expect(patterns).toEqual([
      { errorType: 'crash', count: 3 },
      { errorType: 'validation', count: 2 },
      { errorType: 'unknown', count: 2 },
      { errorType: 'timeout', count: 1 },
    ]);
  });

  it('shows the messages among the five newest failures only', () => {
    const messages = ['newest', '', null, 'fourth', undefined, 'sixth'];
    const { recentMessages } = errorPatterns(
      'search',
      messages.map((errorMessage) => ({ errorMessage })),
    );
    expect(recentMessages).toEqual(['newest', 'fourth']);
  });
});
