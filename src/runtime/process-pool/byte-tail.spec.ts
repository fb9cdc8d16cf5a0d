import fc from 'fast-check';
import { ByteTail } from './output-reader.js';

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

  it('keeps them while its buffer grows, too', () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 9_000 }), (parts, cap) => {
        const tail = new ByteTail(cap);
        let all = '';
        for (const [n, length] of parts.entries()) {
          const part = String.fromCharCode(97 + (n % 26)).repeat(length);
          tail.push(Buffer.from(part));
          all += part;
          expect(tail.text()).toBe(all.slice(-cap));
        }
      }),
    );
  });

  it('takes no memory for a flood but what it keeps', () => {
    const tail = new ByteTail(65_536);
    const chunk = Buffer.alloc(65_536, 'x');
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 1_000; n++) tail.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
    expect(tail.text()).toBe(chunk.toString());
  });

  it('takes off white space at the end', () => {
    const tail = new ByteTail(10);
    tail.push(Buffer.from('oops\n\n'));
    expect(tail.text()).toBe('oops');
  });
});
