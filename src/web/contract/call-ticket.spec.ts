import { Deadline } from '../../base/common/deadline.js';
import { CallTicket } from './call-ticket.js';
import type { Tool } from './tool.js';

const newTicket = (): CallTicket => new CallTicket('id', {} as Tool, Deadline.ofSmallest([]));
const flags = ['budgeted', 'circuitPassed', 'admittedToQueue', 'recorded'] as const;
const admitted = (): CallTicket =>
  Object.assign(newTicket(), Object.fromEntries(flags.map((flag) => [flag, true])));

describe('CallTicket', () => {
  it.each(flags)('admits no call that is not %s', (flag) => {
    const ticket = admitted();
    expect(() => ticket.assertAdmitted()).not.toThrow();
    ticket[flag] = false;
    expect(() => ticket.assertAdmitted()).toThrow('only through the door');
  });

  it('admits no call that has ended', () => {
    const ticket = admitted();
    ticket.end(true);
    expect(() => ticket.assertAdmitted()).toThrow('only through the door');
  });

  it.each([
    [true, ['budget', 'circuit', 'slot']],
    [false, ['circuit', 'slot']],
  ])('gives back what was reserved, once, when refused is %s', (refused, expected) => {
    const given: string[] = [];
    const ticket = newTicket();
    ticket.returnBudget = () => given.push('budget');
    ticket.slot = { run: () => Promise.resolve(), release: () => given.push('slot') };
    ticket.releaseProbe = () => given.push('circuit');
    ticket.end(refused);
    ticket.end(!refused);
    expect(given).toEqual(expected);
  });
});
