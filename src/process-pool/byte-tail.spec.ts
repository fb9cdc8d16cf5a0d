import fc from 'fast-check';
import { ByteTail } from './byte-tail.js';

describe('ByteTail', () => {
  it('keeps the last bytes, however they come', () => {
    const ascii = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 30 });
    fc.assert(
      fc.property(
        fc.array(ascii),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 40 }),
        (parts, cap, most) => {
          const tail = new ByteTail(cap);
          for (const part of parts) tail.push(Buffer.from(part));
          expect(tail.text()).toBe(parts.join('').slice(-cap));
          expect(tail.text(most)).toBe(parts.join('').slice(-Math.min(cap, most)));
        },
      ),
    );
  });

  it('drops what it cannot give any more', () => {
    const tail = new ByteTail(10);
    for (let n = 0; n < 1_000; n++) tail.push(Buffer.from('0123456789'));
    expect(tail).toMatchObject({ bytes: 10 });
  });

  it('takes off white space at the end', () => {
    const tail = new ByteTail(10);
    tail.push(Buffer.from('oops\n\n'));
    expect(tail.text()).toBe('oops');
  });
});
