import { Lifecycle } from './lifecycle.js';

describe('Lifecycle', () => {
  it('goes from starting over ready to draining, and never back', () => {
    const lifecycle = new Lifecycle();
    expect(lifecycle.state).toBe('starting');
    lifecycle.ready();
    expect(lifecycle.state).toBe('ready');
    expect(lifecycle.isDraining()).toBe(false);
    const told: string[] = [];
    lifecycle.draining.addEventListener('abort', () => told.push(lifecycle.state));
    lifecycle.drain();
    expect(told).toEqual(['draining']);
    lifecycle.ready();
    expect(lifecycle.state).toBe('draining');
    expect(lifecycle.isDraining()).toBe(true);
  });
});
