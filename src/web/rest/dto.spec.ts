import { ApiProperty, PartialType } from '@nestjs/swagger';
import { DtoPipe } from './dto.pipe.js';
import { Problem } from '../../base/common/errors.js';
import * as dto from './dto.js';

class PartDto {
  @dto.OptionalInt(1, 9) readonly size?: number;
  @dto.FreeJson({ required: false }) readonly json?: unknown;
}

class ThingDto {
  @dto.Text(5) readonly text!: string;
  @dto.AnyText({ required: false, maxLength: 3 }) readonly any?: string;
  @dto.AnyText({ required: false, pattern: '^a+$' }) readonly as?: string;
  @dto.OptionalText(5, { nullable: true }) readonly nullable?: string | null;
  @dto.OptionalInt(1, 9, { default: 5 }) readonly int?: number;
  @dto.OptionalNum({ minimum: 0, maximum: 1 }) readonly num?: number;
  @dto.OptionalFlag() readonly flag?: boolean;
  @dto.OptionalOneOf(['a', 'b']) readonly one?: string;
  @dto.SomeOf(['a', 'b'], { required: false, uniqueItems: true }) readonly some?: string[];
  @dto.OptionalTextList({ minItems: 1, maxItems: 3, maxLength: 3 }) readonly list?: string[];
  @dto.ObjectList({ required: false, maxItems: 2 }) readonly objects?: object[];
  @dto.OptionalMap({ additionalProperties: { type: 'string', nullable: true } }) readonly texts?: object;
  @dto.OptionalMap({ additionalProperties: { type: 'integer', minimum: 0 }, maxProperties: 2 })
  readonly ints?: object;
  @dto.OptionalNested(PartDto) readonly part?: PartDto;
  @dto.NestedList(PartDto, 2, { required: false, minItems: 1 }) readonly parts?: PartDto[];
  @dto.AnyObject({ required: false }) readonly object?: object;
  @dto.FreeJson({ required: false }) readonly json?: unknown;
  @dto.OptionalMomentText({}) readonly at?: string;
  @(dto.Ruled('must be 1', (value) => value === 1)({ required: false })) readonly ruled?: unknown;
}

class ChangeDto extends PartialType(ThingDto, { skipNullProperties: false }) {}

@dto.SentBackBy(ChangeDto)
class _ThingView {
  @ApiProperty() readonly id!: string;
  @ApiProperty({ type: String, nullable: true }) readonly text!: string | null;
  @ApiProperty({ type: [PartDto] }) readonly ints!: PartDto[];
}

class WordsQuery {
  @dto.OptionalInt(1, 9, { default: 5 }) readonly int!: number;
  @dto.OptionalNum({}) readonly num?: number;
  @dto.OptionalFlag({ default: false }) readonly flag!: boolean;
  @dto.OptionalTextList({}) readonly thread_ids?: string[];
  @dto.OptionalText(9) readonly text?: string;
  @dto.OptionalMoment({}) readonly since?: Date;
}

const pipe = new DtoPipe();
const problemsOf = (reading: Promise<unknown>): Promise<unknown> =>
  reading.catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error;
    return error.details.errors?.map(({ pointer, detail }) => `${pointer} ${detail}`);
  });
const times = <T>(count: number, of: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => of(n));

describe('a body', () => {
  it.each<[Record<string, unknown>, ...string[]]>([
    [{ text: undefined }, '/text is required'],
    [{ text: null }, '/text must be string, not null'],
    [{ text: 1 }, '/text must be string'],
    [{ text: '' }, '/text must not be empty'],
    [{ text: ' ' }, '/text must not be blank'],
    [{ text: '123456' }, '/text must have at most 5 characters'],
    [{ any: '1234' }, '/any must have at most 3 characters'],
    [{ as: 'b' }, '/as must match the pattern ^a+$'],
    [{ nullable: 1 }, '/nullable must be string'],
    [{ int: '5' }, '/int must be integer'],
    [{ int: null }, '/int must be integer, not null'],
    [{ int: 1.5 }, '/int must be integer'],
    [{ int: 0 }, '/int must be at least 1'],
    [{ int: 10 }, '/int must be at most 9'],
    [{ num: '1' }, '/num must be number'],
    [{ num: 2 }, '/num must be at most 1'],
    [{ flag: 'true' }, '/flag must be boolean'],
    [{ one: 'c' }, '/one must be equal to one of the allowed values: "a", "b"'],
    [{ some: ['a', 'c'] }, '/some/1 must be equal to one of the allowed values: "a", "b"'],
    [{ some: ['a', 'a'] }, '/some must not have equal items'],
    [{ list: 'a,b' }, '/list must be array'],
    [{ list: [] }, '/list must have at least 1 items'],
    [{ list: ['a', 'b', 'c', 'd'] }, '/list must have at most 3 items'],
    [{ list: ['a', 2, 'long', null] }, '/list must have at most 3 items'],
    [{ list: ['a', 2, null] }, '/list/1 must be string', '/list/2 must be string, not null'],
    [{ list: [{ constructor: 1 }] }, '/list/0 must be string'],
    [{ objects: [{}, []] }, '/objects/1 must be object'],
    [{ texts: { 'a/b': 1 } }, '/texts/a~1b must be string'],
    [{ texts: [] }, '/texts must be object'],
    [{ ints: { a: -1 } }, '/ints/a must be at least 0'],
    [{ ints: { a: 1, b: 1, c: 1 } }, '/ints must have at most 2 members'],
    [{ part: null }, '/part must be object, not null'],
    [{ part: 'x' }, '/part must be object'],
    [{ part: [{}] }, '/part must be object'],
    [{ part: { size: 0, more: 1 } }, '/part/more is not a known field', '/part/size must be at least 1'],
    [{ part: { more: { constructor: 1 } } }, '/part/more is not a known field'],
    [{ parts: [{ size: 1 }, { size: 0 }] }, '/parts/1/size must be at least 1'],
    [{ parts: [null] }, '/parts/0 must be object, not null'],
    [{ parts: {} }, '/parts must be array'],
    [{ parts: times(100_000, () => ({ size: 0 })) }, '/parts must have at most 2 items'],
    [{ object: [] }, '/object must be object'],
    [{ at: 'noon' }, '/at must be an ISO 8601 time, such as 2026-01-23T10:30:00Z'],
    [{ at: '2026-02-30' }, '/at must be an ISO 8601 time, such as 2026-01-23T10:30:00Z'],
    [{ ruled: 2 }, '/ruled must be 1'],
    [{ more: { constructor: 1 } }, '/more is not a known field'],
    [{ constructor: 1 }, '/constructor is not a known field'],
    [{ hasOwnProperty: 1 }, '/hasOwnProperty is not a known field'],
    [
      { text: 1, a: 1, list: [2] },
      '/a is not a known field',
      '/text must be string',
      '/list/0 must be string',
    ],
    [{ json: { a: ['\0'] } }, '/json/a/0 must not hold NUL characters or halves of surrogate pairs'],
    [{ any: '\ud800' }, '/any must not hold NUL characters or halves of surrogate pairs'],
  ])('%j is refused: %s', async (over, ...problems) => {
    expect(await problemsOf(pipe.read(ThingDto, { text: 'x', ...over }))).toEqual(problems);
  });

  it.each([[[]], ['x'], [1]])('%j is refused: it must be an object', async (body) => {
    expect(await problemsOf(pipe.read(ThingDto, body))).toEqual([' must be object']);
  });

  it.each<[Record<string, unknown>]>([
    [{ nullable: null }],
    [{ any: '' }],
    [{ texts: { A: 'x', B: null, constructor: 'y', toString: 'z' } }],
    [{ part: {} }],
    [{ part: { json: { constructor: 1, prototype: 2, then: 3, toString: [] } } }],
    [{ parts: [{ size: 1 }, { json: null }] }],
    [{ objects: [{ constructor: { name: 'x' } }] }],
    [{ object: { properties: { constructor: { type: 'string' } } } }],
    [{ json: [[1], { a: null }] }],
    [{ json: null }],
    [{ at: '2026-01-23T10:30:00Z' }],
  ])('%j stays as it is', async (over) => {
    const body = { text: 'x', ...over };
    const read = await pipe.read(ThingDto, structuredClone(body));
    expect(JSON.parse(JSON.stringify(read))).toEqual(body);
    expect(Object.keys(read)).toEqual(expect.arrayContaining(Object.keys(body)));
    expect(Object.values(read)).not.toContain(undefined);
    if (read.part) expect(Object.values(read.part)).not.toContain(undefined);
  });

  it('is not looked through for more problems than an answer names', async () => {
    const many = Object.fromEntries(times(100_000, (n) => [`a${n}`, 1]));
    expect(await problemsOf(pipe.read(ThingDto, { text: 'x', ...many }))).toHaveLength(20);
    expect(await problemsOf(pipe.read(ThingDto, { text: 'x', part: many }))).toHaveLength(20);
    expect(await problemsOf(pipe.read(ThingDto, { text: 'x', texts: many }))).toHaveLength(20);
    expect(await pipe.read(ThingDto, { text: 'x', json: many })).toMatchObject({ text: 'x' });
  });

  it.each<[Record<string, unknown>, unknown]>([
    [{}, {}],
    [{ id: '1', int: 2 }, { int: 2 }],
    [{ text: null, ints: [{ size: 1 }] }, {}],
    [{ ints: { a: 1 } }, { ints: { a: 1 } }],
    [{ ints: ['a'] }, ['/ints must be object']],
    [{ int: null }, ['/int must be integer, not null']],
    [{ any: null, other: 1 }, ['/other is not a known field', '/any must be string, not null']],
  ])('of a change may have what its view shows besides: %j', async (body, read) => {
    expect(await problemsOf(pipe.read(ChangeDto, body))).toEqual(read);
  });
});

describe('a query', () => {
  it.each<[Record<string, unknown>, object]>([
    [{}, { int: 5, flag: false }],
    [
      { int: '2', num: '-1.5', flag: 'true' },
      { int: 2, num: -1.5, flag: true },
    ],
    [{ thread_ids: 'a, b' }, { thread_ids: ['a', 'b'] }],
    [{ threadIds: ['a', 'b,c'] }, { thread_ids: ['a', 'b', 'c'] }],
    [{ text: '5' }, { text: '5' }],
    [{ since: '2026-01-23' }, { since: new Date('2026-01-23') }],
  ])('%j is converted', async (query, read) => {
    expect(await pipe.read(WordsQuery, query, 'query')).toEqual({ int: 5, flag: false, ...read });
  });

  it.each<[Record<string, unknown>, string]>([
    [{ int: '' }, '/int must be integer'],
    [{ int: 'x' }, '/int must be integer'],
    [{ int: ['1', '2'] }, '/int must be integer'],
    [{ int: '0' }, '/int must be at least 1'],
    [{ num: 'Infinity' }, '/num must be number'],
    [{ flag: '1' }, '/flag must be boolean'],
    [{ text: ['a', 'b'] }, '/text must be string'],
    [{ since: 'noon' }, '/since must be an ISO 8601 time, such as 2026-01-23T10:30:00Z'],
    [{ text: '\0' }, '/text must not hold NUL characters or halves of surrogate pairs'],
    [{ threadId: 'x' }, '/threadId is not a known field: did you mean "thread_ids"?'],
  ])('%j is refused: %s', async (query, problem) => {
    expect(await problemsOf(pipe.read(WordsQuery, query, 'query'))).toEqual([problem]);
  });
});
