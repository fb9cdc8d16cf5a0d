import { Lifecycle } from './lifecycle.js';

describe('Lifecycle', () => {
  it('goes from starting over ready and leaving to draining, and never back', () => {
    const lifecycle = new Lifecycle();
    expect(lifecycle.state).toBe('starting');
    lifecycle.ready();
    expect(lifecycle.state).toBe('ready');
    const states: string[] = [];
    lifecycle.drainSignal.addEventListener('abort', () => states.push(lifecycle.state));
    lifecycle.leave();
    expect(lifecycle.state).toBe('leaving');
    expect(states).toEqual([]);
    lifecycle.drain();
    expect(states).toEqual(['draining']);
    lifecycle.ready();
    lifecycle.leave();
    expect(lifecycle.state).toBe('draining');
  });
});
