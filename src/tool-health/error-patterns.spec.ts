import { errorPatterns } from './error-patterns.js';

const recordedAt = new Date('2026-01-23T10:30:00.000Z');

describe('errorPatterns', () => {
  it('is empty, messages included, without failures', () => {
    expect(errorPatterns('search', [])).toEqual({
      toolName: 'search',
      totalErrors: 0,
      patterns: [],
      recentMessages: [],
      messages: [],
    });
  });

  it('counts types, most frequent first, and keeps the order of equals', () => {
    const types = ['timeout', 'validation', null, 'crash', 'validation', undefined, 'crash', 'crash'];
    const { totalErrors, patterns } = errorPatterns(
      'search',
      types.map((errorType) => ({ errorType, recordedAt })),
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
      messages.map((errorMessage) => ({ errorMessage, recordedAt })),
    );
    expect(recentMessages).toEqual(['newest', 'fourth']);
  });

  it('groups by type and by what is said, with the times and an example', () => {
    const failure = (minute: number, errorType: string, errorMessage?: string) => ({
      errorType,
      errorMessage,
      recordedAt: new Date(Date.UTC(2026, 0, 23, 10, minute)),
    });
    const { messages } = errorPatterns('search', [
      failure(9, 'timeout', 'no answer in 5000 ms'),
      failure(8, 'tool_error', "no file '/tmp/b'"),
      failure(7, 'tool_error', 'no answer in 7 ms'),
      failure(6, 'timeout', 'no answer in 30 ms'),
      failure(5, 'tool_error'),
      failure(4, 'timeout', 'no answer in 1.5 ms'),
    ]);
    const at = (minute: number) => `2026-01-23T10:0${minute}:00.000Z`;
    expect(messages).toEqual([
      {
        errorType: 'timeout',
        message: 'no answer in <n> ms',
        count: 3,
        firstSeen: at(4),
        lastSeen: at(9),
        example: 'no answer in 5000 ms',
      },
      {
        errorType: 'tool_error',
        message: 'no file <text>',
        count: 1,
        firstSeen: at(8),
        lastSeen: at(8),
        example: "no file '/tmp/b'",
      },
      {
        errorType: 'tool_error',
        message: 'no answer in <n> ms',
        count: 1,
        firstSeen: at(7),
        lastSeen: at(7),
        example: 'no answer in 7 ms',
      },
      { errorType: 'tool_error', message: '', count: 1, firstSeen: at(5), lastSeen: at(5), example: '' },
    ]);
  });
});
