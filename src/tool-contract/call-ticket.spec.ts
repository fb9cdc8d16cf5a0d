import { Deadline } from '../common/deadline.js';
import { CallTicket } from './call-ticket.js';
import type { Tool } from './tool.js';

const newTicket = (): CallTicket => new CallTicket('id', {} as Tool, Deadline.ofSmallest([]));

describe('CallTicket', () => {
  it('lets a call pass each step once, in order', () => {
    const ticket = newTicket();
    expect(() => ticket.advance('tool')).toThrow('only through the door (at tool, expected budget)');
    for (const step of ['budget', 'circuit', 'capacity', 'recorder', 'tool'] as const) {
      ticket.advance(step);
      expect(() => ticket.advance(step)).toThrow('only through the door');
    }
  });

  it('lets nothing pass once the call is over', () => {
    const ticket = newTicket();
    ticket.end(true);
    expect(() => ticket.advance('budget')).toThrow('only through the door');
  });

  it('gives everything back when the call is refused, and only slots when it ran', () => {
    for (const refused of [true, false]) {
      const given: string[] = [];
      const ticket = newTicket();
      ticket.returnIfRefused(() => given.push('budget'));
      ticket.returnAtEnd(() => given.push('slot'));
      ticket.end(refused);
      ticket.end(!refused);
      expect(given).toEqual(refused ? ['budget', 'slot'] : ['slot']);
    }
  });
});
