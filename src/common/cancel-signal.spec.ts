import { asAbortSignal, CallSignal, neverAborted } from './cancel-signal.js';

describe('CallSignal', () => {
  it('calls its listeners once, in their order', () => {
    const signal = new CallSignal();
    const heard: string[] = [];
    signal.addEventListener('abort', () => heard.push('first'));
    signal.addEventListener('abort', { handleEvent: () => heard.push('second') });
    signal.abort();
    signal.abort();
    expect([signal.aborted, heard]).toEqual([true, ['first', 'second']]);
  });

  it('forgets a listener that is removed', () => {
    const signal = new CallSignal();
    const heard: string[] = [];
    const gone = (): number => heard.push('gone');
    const kept = (): number => heard.push('kept');
    signal.addEventListener('abort', gone);
    signal.addEventListener('abort', kept);
    signal.removeEventListener('abort', gone);
    signal.removeEventListener('abort', gone);
    signal.abort();
    expect(heard).toEqual(['kept']);
  });

  it('does not call a listener that another has removed', () => {
    const signal = new CallSignal();
    const heard: string[] = [];
    const second = (): number => heard.push('second');
    signal.addEventListener('abort', () => signal.removeEventListener('abort', second));
    signal.addEventListener('abort', second);
    signal.abort();
    expect(heard).toEqual([]);
  });

  it('calls nobody who comes too late, as an AbortSignal', () => {
    const signal = new CallSignal();
    signal.abort();
    const heard: string[] = [];
    signal.addEventListener('abort', () => heard.push('late'));
    signal.abort();
    expect(heard).toEqual([]);
  });
});

describe('a signal for libraries', () => {
  it('is the given one where that is an AbortSignal', () => {
    const { signal } = new AbortController();
    expect(asAbortSignal(signal)).toBe(signal);
  });

  it('aborts with the given one, or has already', () => {
    const call = new CallSignal();
    const before = asAbortSignal(call);
    expect(before.aborted).toBe(false);
    call.abort();
    expect([before.aborted, asAbortSignal(call).aborted]).toEqual([true, true]);
  });

  it('never aborts of a caller who never leaves', () => {
    expect([neverAborted.aborted, asAbortSignal(neverAborted).aborted]).toEqual([false, false]);
  });
});
