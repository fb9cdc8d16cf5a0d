import { CallerSlots } from './caller-slots.js';

it('gives each caller its share, of what is left for all, and takes slots back once', () => {
  const slots = new CallerSlots(2, 3);
  const one = slots.take('a');
  slots.take('a');
  expect(slots.take('a')).toBeUndefined();
  expect(slots.take('b')).toBeDefined();
  expect(slots.take('c')).toBeUndefined();
  one?.();
  one?.();
  expect(slots.taken).toBe(2);
  expect(slots.take('c')).toBeDefined();
});

it('counts several slots at a time, such as bytes', () => {
  const slots = new CallerSlots(10, 15);
  const release = slots.take('a', 10);
  expect(slots.take('a', 1)).toBeUndefined();
  expect(slots.take('b', 6)).toBeUndefined();
  expect(slots.take('b', 5)).toBeDefined();
  release?.();
  expect(slots.take('a', 10)).toBeDefined();
});

it('names its limits when it refuses', () => {
  const slots = new CallerSlots(0, 5);
  const detail = 'A caller may have 0 turns at a time at this server, and all callers 5';
  expect(() => slots.claim('a', 'turns')).toThrow(expect.objectContaining({ code: 'rate_limited', detail }));
});
