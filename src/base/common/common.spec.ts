import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { endsWithin } from './abortable.js';
import { canonicalJson } from './canonical-json.js';
import { Deadline } from './deadline.js';
import { newId, requestIdOf, timeOfId } from './ids.js';
import { IntervalLoop } from './interval-loop.js';
import { KeyedMutex } from './keyed-mutex.js';
import { pageOf } from '../../web/rest/page.js';
import { TypedEvents } from './typed-events.js';

describe('canonicalJson', () => {
  it('is the same text whatever the order of the keys, and the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reversed(JSON.parse(text)))).toBe(text);
      }),
    );
  });

  it('has its keys in the order of their characters, digits and names of old objects among them', () => {
    const key = fc.oneof(
      fc.constantFrom(...'10 9 1a __proto__ constructor B a é \ud83d\ude00 \uffff'.split(' '), ''),
      fc.string(),
    );
    const { value } = fc.letrec((again) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.jsonValue({ maxDepth: 0 }),
        fc.array(again('value')),
        // As JSON.parse makes them: `__proto__` is a member like any other.
        fc.uniqueArray(fc.tuple(key, again('value')), { selector: ([name]) => name }).map(Object.fromEntries),
      ),
    }));
    fc.assert(
      fc.property(value, (json) => {
        expect(canonicalJson(json)).toBe(written(json));
      }),
    );
  });
});

/** By the definition. */
function written(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  const keys = Object.keys(value).sort();
  const field = (name: string): string =>
    `${JSON.stringify(name)}:${written(Object.getOwnPropertyDescriptor(value, name)?.value)}`;
  return `{${keys.map(field).join(',')}}`;
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reversed(field)]),
  );
}

describe('Deadline', () => {
  it('is the smallest limit and never negative', () => {
    let now = 1_000;
    const deadline = Deadline.ofSmallest([undefined, 500, 300], { now: () => now });
    expect([deadline.totalMs, deadline.remainingMs()]).toEqual([300, 300]);
    now = 2_000;
    expect(deadline.remainingMs()).toBe(0);
  });
});

describe('newId', () => {
  it('is a UUIDv7 that carries its time and does not repeat', () => {
    const before = Date.now();
    const ids = Array.from({ length: 10_000 }, () => newId());
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const time = timeOfId(id) ?? 0;
      expect(time >= before && time <= Date.now()).toBe(true);
    }
  });

  it('tells no time of ids of other kinds', () => {
    expect(timeOfId(randomUUID())).toBeUndefined();
  });
});

describe('requestIdOf', () => {
  it('keeps a safe id and replaces one that could forge a log line', () => {
    const requestIdFor = (given: string | string[] | undefined): string =>
      requestIdOf({ headers: { 'x-request-id': given } });
    expect(requestIdFor('req-1')).toBe('req-1');
    for (const bad of ['a\nb', '', 'x'.repeat(129), undefined, ['a']]) {
      expect(requestIdFor(bad)).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

describe('pageOf', () => {
  it('walks all items once', () => {
    const items = ['a', 'b', 'c', 'd', 'e'];
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = pageOf(items, (item) => item, 2, cursor);
      seen.push(...page.data);
      cursor = page.nextCursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(items);
  });

  it('refuses a cursor that never was one', () => {
    expect(() => pageOf(['a'], (item) => item, 1, 'not a cursor!')).toThrow('nextCursor');
    expect(() => pageOf(['a'], (item) => item, 1, Buffer.from('a\0').toString('base64url'))).toThrow(
      'nextCursor',
    );
  });
});

describe('endsWithin', () => {
  it('tells an end from a time that is over, and passes on what went wrong', async () => {
    expect(await endsWithin(60_000, Promise.resolve())).toBe(true);
    expect(await endsWithin(1, new Promise(() => undefined))).toBe(false);
    await expect(endsWithin(60_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });
});

describe('TypedEvents', () => {
  it('keeps a failing listener from harming the others, and ends subscriptions', () => {
    const errors: unknown[] = [];
    const heard: number[] = [];
    const events = new TypedEvents<number>((error) => errors.push(error));
    events.subscribe(() => {
      throw new Error('bad listener');
    });
    const stop = events.subscribe((event) => heard.push(event));
    events.emit(1);
    stop();
    events.emit(2);
    expect(heard).toEqual([1]);
    expect(errors).toHaveLength(2);
  });
});

describe('KeyedMutex', () => {
  it('runs one task of a key at a time, goes on after a failure, and keys side by side', async () => {
    const mutex = new KeyedMutex();
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = mutex.run('a', async () => {
      order.push('a1 begins');
      await gate.promise;
      order.push('a1 ends');
      throw new Error('no');
    });
    const second = mutex.run('a', async () => order.push('a2'));
    await mutex.run('b', async () => order.push('b'));
    gate.resolve();
    await expect(first).rejects.toThrow('no');
    await second;
    expect(order).toEqual(['a1 begins', 'b', 'a1 ends', 'a2']);
  });
});

describe('IntervalLoop', () => {
  const ignore = () => undefined;

  it('never overlaps itself and waits for its run when stopped', async () => {
    const started = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    const loop = new IntervalLoop(
      async () => {
        most = Math.max(most, ++running);
        started.resolve();
        await gate.promise;
        running--;
      },
      1,
      ignore,
    );
    loop.start();
    loop.start();
    await started.promise;
    const stopped = loop.stop();
    gate.resolve();
    await stopped;
    expect([running, most]).toEqual([0, 1]);
  });

  it('runs earlier when it is hastened, after the run under way, and not after its end', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const starts = [0, 1, 2].map(() => Promise.withResolvers<void>());
    let runs = 0;
    let most = 0;
    let running = 0;
    const loop = new IntervalLoop(
      async () => {
        most = Math.max(most, ++running);
        const n = runs++;
        starts[n]?.resolve();
        await gates[n]?.promise;
        running--;
      },
      86_400_000,
      ignore,
    );
    loop.hasten(0);
    loop.start();
    loop.hasten(5_000);
    loop.hasten(1);
    await starts[0]?.promise;
    loop.hasten(0);
    gates[0]?.resolve();
    await starts[1]?.promise;
    expect([runs, most]).toEqual([2, 1]);
    const stopped = loop.stop();
    gates[1]?.resolve();
    await stopped;
    loop.hasten(0);
    expect(runs).toBe(2);
  });

  it('is not put off beyond its regular time by being hastened again and again', async () => {
    const ran = Promise.withResolvers<void>();
    const loop = new IntervalLoop(async () => ran.resolve(), 20, ignore);
    loop.start();
    const noise = setInterval(() => loop.hasten(10_000), 1);
    await ran.promise;
    clearInterval(noise);
    await loop.stop();
  });

  it('goes on after an error and tells it', async () => {
    const told = Promise.withResolvers<unknown>();
    const again = Promise.withResolvers<void>();
    let runs = 0;
    const loop = new IntervalLoop(
      async () => {
        if (++runs === 1) throw new Error('first');
        again.resolve();
      },
      1,
      told.resolve,
    );
    loop.start();
    await expect(told.promise).resolves.toMatchObject({ message: 'first' });
    await again.promise;
    await loop.stop();
  });

  it('says of a failure whether it is the first one in a row', async () => {
    const ends = [false, false, true, false];
    const told: boolean[] = [];
    const done = Promise.withResolvers<void>();
    const loop = new IntervalLoop(
      async () => {
        if (ends.shift() === false) throw new Error('no');
      },
      1,
      (_error, again) => {
        told.push(again);
        if (ends.length === 0) done.resolve();
      },
    );
    loop.start(0);
    await done.promise;
    await loop.stop();
    expect(told).toEqual([false, true, false]);
  });
});
