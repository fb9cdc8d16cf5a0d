import fc from 'fast-check';
import { arrayParameter, type ElementType } from '../../src/common/pg-array.js';
import { storableJson, storableText } from '../../src/common/pg-text.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

/** real: PostgreSQL reads what is sent */
describe('an array parameter', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  type Element = string | number | boolean | null;

  async function read(type: ElementType, values: readonly Element[]): Promise<unknown[]> {
    const rows = await database.dataSource.query<{ value: unknown }[]>(
      `SELECT unnest($1::${type}[]) AS value`,
      [arrayParameter(type, values)],
    );
    return rows.map(({ value }) => value);
  }

  const ascii = fc.string({ unit: 'binary-ascii', maxLength: 300 });
  const anyText = fc.oneof(ascii, fc.string({ unit: 'binary' }), fc.constantFrom('NULL', '{}', '"', '\\'));
  const text = anyText.map(storableText).map((value) => Buffer.from(value).toString());
  /** All of them kinds of one array: most arrays are plain, some are not. */
  const arrayOf = <T extends Element>(plain: fc.Arbitrary<T>, any: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
    fc.oneof(fc.array(plain, { minLength: 1 }), fc.array(any, { minLength: 1 }));
  const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 4 });
  const json = fc.jsonValue({ maxDepth: 2 }).map(storableJson);

  it.each<[ElementType, fc.Arbitrary<Element[]>]>([
    ['text', arrayOf(orNull(ascii.map(storableText)), orNull(text))],
    ['bool', arrayOf<Element>(fc.boolean(), orNull(fc.boolean()))],
    ['int4', arrayOf<Element>(fc.integer(), orNull(fc.integer()))],
    ['float8', arrayOf<Element>(fc.double({ noNaN: true, noDefaultInfinity: true }), orNull(fc.integer()))],
    ['uuid', arrayOf<Element>(fc.uuid(), orNull(fc.uuid()))],
  ])('of %s is read as it was given', async (type, arrays) => {
    await fc.assert(
      fc.asyncProperty(arrays, async (values) => {
        // An array of nulls alone has no elements: see arrayParameter.
        fc.pre(values.some((value) => value !== null));
        const zeroes = (value: unknown): unknown => (value === 0 ? 0 : value);
        expect((await read(type, values)).map(zeroes)).toEqual(values.map(zeroes));
      }),
    );
  });

  it('of jsonb is read as it was given', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(json, { minLength: 1 }), async (values) => {
        const asRead = (await read('jsonb', values)).map((value) => JSON.stringify(value));
        const asWritten = values.map((value) => JSON.parse(value) as unknown);
        expect(asRead.map((value) => JSON.parse(value) as unknown)).toEqual(asWritten);
      }),
    );
  });

  it.each<[ElementType, Element, string]>([
    ['uuid', 'no uuid', '22P02'],
    ['text', 'a\0b', '22021'],
    ['int4', 2_147_483_648, '22003'],
    ['jsonb', '{', '22P02'],
  ])('of %s is refused for %j', async (type, value, code) => {
    await expect(read(type, [value])).rejects.toMatchObject({ driverError: { code } });
  });
});
