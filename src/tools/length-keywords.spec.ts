import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { countCharactersInDoubt } from './length-keywords.js';

describe('the lengths of texts', () => {
  it("are judged as by the compiler's own keywords, in the same words", () => {
    // Halves of surrogate pairs, too.
    const unit = fc.constantFrom('a', 'ß', '😀', '\ud83d', '\ude00');
    const limits = fc.record(
      { minLength: fc.nat({ max: 8 }), maxLength: fc.nat({ max: 8 }), pattern: fc.constant('^a') },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(limits, fc.array(unit, { maxLength: 10 }), (schema, units) => {
        const verdict = (prepare: (ajv: Ajv2020) => void): unknown => {
          const ajv = new Ajv2020({ allErrors: true, strict: false });
          prepare(ajv);
          const validate = ajv.compile({ properties: { text: { type: 'string', ...schema } } });
          return validate({ text: units.join('') }) || validate.errors;
        };
        expect(verdict(countCharactersInDoubt)).toEqual(verdict(() => undefined));
      }),
      { numRuns: 300 },
    );
  });
});
