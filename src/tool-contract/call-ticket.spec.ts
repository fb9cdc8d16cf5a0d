import { CallTicket } from './call-ticket.js';
import type { Tool } from './tool.js';

const tool = {} as Tool;
const stamped = (): CallTicket => {
  const ticket = new CallTicket('id', tool);
  ticket.stamp('budget');
  ticket.stamp('circuit');
  return ticket;
};

describe('CallTicket', () => {
  it('starts only after every guard', () => {
    const ticket = new CallTicket('id', tool);
    expect(() => ticket.start()).toThrow('missing: budget, circuit');
    ticket.stamp('budget');
    expect(() => ticket.start()).toThrow('missing: circuit');
    ticket.stamp('circuit');
    ticket.start();
    expect(() => ticket.start()).toThrow('started');
  });

  it('enters once, and only after the start', () => {
    const ticket = stamped();
    expect(() => ticket.enter()).toThrow('only through the door');
    ticket.start();
    ticket.enter();
    expect(() => ticket.enter()).toThrow('only through the door');
  });

  it('gives everything back when the call is refused, and only places when it ran', () => {
    for (const refused of [true, false]) {
      const given: string[] = [];
      const ticket = stamped();
      ticket.returnIfRefused(() => given.push('budget'));
      ticket.returnAtEnd(() => given.push('place'));
      ticket.end(refused);
      ticket.end(!refused);
      expect(given).toEqual(refused ? ['budget', 'place'] : ['place']);
    }
  });
});
