import { rateLimitHeaders } from './investigation-budget.guard.js';

it('tells limit, rest and whole seconds until the reset, never negative', () => {
  const budget = { limit: 10, remaining: 7, resetsAt: 5_001 };
  expect(rateLimitHeaders(budget, 1_000)).toEqual({
    'RateLimit-Limit': '10',
    'RateLimit-Remaining': '7',
    'RateLimit-Reset': '5',
  });
  expect(rateLimitHeaders(budget, 9_000)['RateLimit-Reset']).toBe('0');
});
