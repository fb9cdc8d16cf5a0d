import { Lifecycle } from './lifecycle.js';

describe('Lifecycle', () => {
  it('goes from starting over ready to draining, and never back', () => {
    const lifecycle = new Lifecycle();
    expect(lifecycle.state).toBe('starting');
    lifecycle.ready();
    expect(lifecycle.state).toBe('ready');
    expect(lifecycle.isDraining()).toBe(false);
    lifecycle.drain();
    lifecycle.ready();
    expect(lifecycle.state).toBe('draining');
    expect(lifecycle.isDraining()).toBe(true);
  });

  it('tells each listener once that draining begins, a late one at once', () => {
    const lifecycle = new Lifecycle();
    const heard: string[] = [];
    lifecycle.onDraining(() => heard.push('early'));
    lifecycle.drain();
    lifecycle.drain();
    lifecycle.onDraining(() => heard.push('late'));
    expect(heard).toEqual(['early', 'late']);
  });
});
