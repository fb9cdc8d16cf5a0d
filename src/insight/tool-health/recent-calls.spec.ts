import { courseOf, type CallsSince } from './recent-calls.js';

const minute = 60_000;

/** Minutes as `failures/calls`, oldest first; `-` is a minute without calls. */
const minutes = (text: string): CallsSince[] =>
  text.split(' ').map((each, index) => {
    const [failures = 0, calls = 0] = each === '-' ? [] : each.split('/').map(Number);
    return { since: index * minute, calls, failures };
  });

/** `failing 3: 20/20` is failing since minute 3, with 20 failures of 20 calls since then. */
function course(text: string, minRate = 0.8, openSince?: number): string {
  const { state, calls } = courseOf(minutes(text), minRate, openSince) ?? {};
  return calls ? `${state} ${calls.since / minute}: ${calls.failures}/${calls.calls}` : 'fine';
}

describe('courseOf', () => {
  it.each([
    ['never failed', '0/10 0/10 0/10', 'fine'],
    ['no calls at all', '- - -', 'fine'],
    ['one failure is no outage', '0/10 1/1 -', 'fine'],
    ['fails within what is allowed', '1/10 1/10 2/10 1/10', 'fine'],
    ['total outage', '0/10 0/10 10/10 10/10', 'failing 2: 20/20'],
    ['a minute that may be chance', '0/10 4/10', 'fine'],
    ['the minute in which it broke', '0/10 7/10', 'failing 1: 7/10'],
    ['at its limit, a little more and a little less', '2/10 3/10 1/10 4/10 2/10 1/10 3/10 2/10', 'fine'],
    ['beyond its limit, for long', '5/20 6/20 4/20 7/20 5/20 6/20 5/20 6/20', 'fine'],
    ['far beyond its limit', '10/20 9/20 10/20 9/20', 'failing 0: 38/80'],
    ['breaks after a restless time', '3/10 2/10 1/10 3/10 2/10 10/10', 'failing 5: 10/10'],
    ['failing since the first minute', '5/5 5/5', 'failing 0: 10/10'],
    ['nobody calls any more', '0/10 10/10 - - -', 'failing 1: 10/10'],
    ['called seldom', '- 1/1 - - 1/1 - - 1/1 -', 'failing 1: 3/3'],
    ['recovered', '10/10 10/10 0/10 0/9', 'recovering 2: 0/19'],
    ['recovered with the first success', '10/10 10/10 0/1', 'recovering 2: 0/1'],
    ['recovered, though few calls fail still', '10/10 10/10 1/20 0/20', 'recovering 2: 1/40'],
    ['the minute in which it was mended is a failing one', '10/10 6/10 0/10', 'recovering 2: 0/10'],
    ['a lucky minute is no recovery', '5/10 5/10 5/10 0/3', 'failing 0: 15/33'],
    ['enough luck is one', '5/10 5/10 5/10 0/3 0/6', 'recovering 3: 0/9'],
    ['recovering since the end of its last bad minute', '10/10 10/10 - - - 0/9', 'recovering 2: 0/9'],
    ['at its limit after an outage', '10/10 10/10 2/10 3/10 2/10 3/10', 'fine'],
    ['within its limit after an outage', '10/10 10/10 1/10 3/10 1/10 2/10', 'recovering 2: 7/40'],
    ['fails again soon: it failed all the time', '9/9 0/9 0/9 9/9', 'failing 0: 18/36'],
    ['fails again after five minutes: a new outage', '9/9 0/9 0/9 0/9 0/9 0/9 0/9 8/8', 'failing 7: 8/8'],
  ])('%s', (_, text, expected) => expect(course(text)).toBe(expected));

  it.each([
    ['opened late in a minute', '0/10 5/60 - -', 1.9, 'failing 1: 5/60'],
    ['by a call of the minute before', '0/10 5/60 0/3 -', 2.1, 'failing 1: 5/63'],
    ['opened again after it had recovered', '10/10 0/10 0/10 1/40 -', 3.5, 'failing 3: 1/40'],
    ['by calls of other projects', '0/10 0/10', 1.5, 'fine'],
  ])('with a circuit that is open: %s', (_, text, opened, expected) =>
    expect(course(text, 0.8, opened * minute)).toBe(expected),
  );

  it("follows the tool's own limit", () => {
    expect(course('6/10 6/10', 0.8)).toBe('failing 0: 12/20');
    expect(course('6/10 6/10', 0.5)).toBe('fine');
    expect(course('1/30 1/30 1/30', 1)).toBe('failing 0: 3/90');
    expect(course('9/10 10/10 10/10', 0)).toBe('fine');
  });
});
