import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Exclude, Expose, Transform, Type as TransformTo } from 'class-transformer';
import * as rules from 'class-validator';
import { instanceOf, QueryText } from './dto.pipe.js';
import { listOf } from './field-problems.js';
import { momentOf } from './moments.js';
import type { Page } from './page.js';

/*
 * Decorators for the properties of DTOs: each holds the rules for class-validator and what /openapi.json shows. `said`
 * is the OpenAPI schema; its bounds (maxLength, minimum, maxItems, …) are rules as well.
 */

/** What OpenAPI says of a property. */
export type Said = Readonly<Record<string, unknown>>;
type Says = string | ((value: unknown) => string);
type Check = readonly [says: Says, holds: (value: unknown) => boolean];
type Checks = Readonly<Record<string, (limit: never) => Check>>;

const sentence = (says: Says, value: unknown): string => (typeof says === 'string' ? says : says(value));

/** A rule that the other decorators do not have; `says` follows the field's name, such as "must be a version". */
export const Rule = (says: Says, holds: (value: unknown) => boolean): PropertyDecorator =>
  rules.ValidateBy({
    name: 'rule',
    validator: { validate: holds, defaultMessage: (at) => sentence(says, at?.value) },
  });

/** Checks each item of a list or each value of an object; the problem's pointer leads to the item. */
function Items(checks: readonly Check[]): PropertyDecorator {
  const problemOf = (item: unknown): string | undefined => {
    const broken = checks.find(([, holds]) => !holds(item));
    return broken && sentence(broken[0], item);
  };
  const validate = (all: unknown): boolean =>
    Object.values(all as object).every((item) => problemOf(item) === undefined);
  const validator = { validate, defaultMessage: () => 'has a wrong item' };
  return rules.ValidateBy({ name: 'items', validator }, { context: { problemOf } });
}

const typed = (type: string, holds: (value: unknown) => boolean): Check => [
  (value) => `must be ${type}${value === null ? ', not null' : ''}`,
  holds,
];
const isText = typed('string', rules.isString);
const isInteger = typed('integer', rules.isInt);
const isObject = typed('object', rules.isObject);
const isList = typed('array', rules.isArray);

const notBlank = '\\S';
const bounds: Checks = {
  maxLength: (most: number) => [`must have at most ${most} characters`, (it) => rules.maxLength(it, most)],
  minLength: (least: number) => [
    least === 1 ? 'must not be empty' : `must have at least ${least} characters`,
    (it) => rules.minLength(it, least),
  ],
  pattern: (pattern: string) => {
    const expression = new RegExp(pattern, 'u');
    const says = pattern === notBlank ? 'must not be blank' : `must match the pattern ${pattern}`;
    return [says, (it) => rules.matches(it as string, expression)];
  },
  enum: (values: readonly unknown[]) => [
    `must be equal to one of the allowed values: ${listOf(values)}`,
    (it) => rules.isIn(it, values),
  ],
  minimum: (least: number) => [`must be at least ${least}`, (it) => rules.min(it, least)],
  maximum: (most: number) => [`must be at most ${most}`, (it) => rules.max(it, most)],
};
const sizes: Checks = {
  maxItems: (most: number) => [`must have at most ${most} items`, (it) => rules.arrayMaxSize(it, most)],
  minItems: (least: number) => [`must have at least ${least} items`, (it) => rules.arrayMinSize(it, least)],
  uniqueItems: () => ['must not have duplicate items', (it) => rules.arrayUnique(it as unknown[])],
  maxProperties: (most: number) => [
    `must have at most ${most} members`,
    (it) => Object.keys(it as object).length <= most,
  ],
};
const checksOf = (checks: Checks, said: Said): Check[] =>
  Object.entries(checks).flatMap(([keyword, check]) =>
    said[keyword] === undefined ? [] : [check(said[keyword] as never)],
  );

/** class-transformer descends into no value of this type. */
@Exclude()
class Opaque {}

type Convert = (value: unknown) => unknown;
const same: Convert = (value) => value;

/** A property: whether it may be absent or null, its conversion, its checks. */
function field(said: Said, checks: readonly Check[], fromText = same, fromJson = same): PropertyDecorator {
  const { required, nullable, default: usual } = said;
  return applyDecorators(
    ApiProperty(said as ApiPropertyOptions),
    rules.ValidateIf(
      (_, value) => (value !== undefined || required !== false) && (value !== null || nullable !== true),
    ),
    TransformTo(() => Opaque),
    Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) =>
      obj instanceof QueryText ? (fromText(obj[key]) ?? usual) : fromJson(obj[key]),
    ),
    // Absent properties are converted only if they are exposed.
    ...(usual === undefined ? [] : [Expose()]),
    Rule('is required', (value) => value !== undefined),
    ...checks.map((check) => Rule(...check)),
  ) as PropertyDecorator;
}

const both = (...decorators: PropertyDecorator[]): PropertyDecorator =>
  applyDecorators(...decorators) as PropertyDecorator;

/** JSON of any form, for the given rules alone. */
export const FreeJson = (said: Said = {}, ...own: readonly PropertyDecorator[]): PropertyDecorator =>
  both(field(said, []), ...own);

/** A JSON object of any form. */
export const AnyObject = (said: Said): PropertyDecorator =>
  field({ type: 'object', additionalProperties: true, ...said }, [isObject]);

/** Text that may be empty. */
export const AnyText = (said: Said = {}): PropertyDecorator =>
  field({ type: 'string', ...said }, [isText, ...checksOf(bounds, said)]);

/** A name, an id or a reason: text that is not blank. */
export const Text = (maxLength: number, said: Said = {}): PropertyDecorator =>
  AnyText({ minLength: 1, pattern: notBlank, maxLength, ...said });

/** Text that may be left out. */
export const OptionalText = (maxLength: number, said: Said = {}): PropertyDecorator =>
  Text(maxLength, { required: false, ...said });

const toNumber: Convert = (text) =>
  typeof text === 'string' && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;

/** A number; `said` holds its bounds. */
export const Num = (said: Said): PropertyDecorator =>
  field(said, [typed('number', Number.isFinite), ...checksOf(bounds, said)], toNumber);

/** A whole number; both bounds are allowed. */
export function Int(minimum: number, maximum: number | undefined, said: Said = {}): PropertyDecorator {
  const whole = { type: 'integer', minimum, maximum, ...said };
  return field(whole, [isInteger, ...checksOf(bounds, whole)], toNumber);
}

/** A whole number that may be left out. */
export const OptionalInt = (minimum: number, maximum?: number, said: Said = {}): PropertyDecorator =>
  Int(minimum, maximum, { required: false, ...said });

const flags = new Map<unknown, boolean>([
  ['true', true],
  ['false', false],
]);

/** True or false, and it may be left out. */
export const OptionalFlag = (said: Said = {}): PropertyDecorator =>
  Flag({ required: false, ...said });

/** True or false. */
export const Flag = (said: Said = {}): PropertyDecorator =>
  field(said, [typed('boolean', rules.isBoolean)], (text) => flags.get(text) ?? text);

/** One of these texts. */
export const OneOf = (values: readonly string[], said: Said = {}): PropertyDecorator =>
  field({ enum: values, ...said }, [isText, ...checksOf(bounds, { enum: values })]);

/** In a query `a,b` stands for a list of both, as the parameter given twice does. */
const toList: Convert = (text) =>
  text === undefined
    ? undefined
    : [text].flat().flatMap((part) => (typeof part === 'string' ? part.split(',').map((word) => word.trim()) : part));

const list = (said: Said, ...ofItems: readonly Check[]): PropertyDecorator =>
  both(field(said, [isList, ...checksOf(sizes, said)], toList), Items(ofItems));

/** A list of texts; bounds of length and a pattern are those of the items. */
export const TextList = (said: Said = {}): PropertyDecorator =>
  list({ type: [String], ...said }, isText, ...checksOf(bounds, said));

/** A list of some of these texts. */
export const SomeOf = (values: readonly string[], said: Said = {}): PropertyDecorator =>
  list({ enum: values, isArray: true, ...said }, isText, ...checksOf(bounds, { enum: values }));

/** A list of JSON objects of any form. */
export const ObjectList = (said: Said): PropertyDecorator =>
  list({ type: 'array', items: { type: 'object', additionalProperties: true }, ...said }, isObject);

/** An object from names to texts, or to whole numbers; `each` is the schema of a value. */
export function MapOf(each: Said, said: Said = {}): PropertyDecorator {
  const checks = [each['type'] === 'integer' ? isInteger : isText, ...checksOf(bounds, each)];
  const orNull = checks.map(([says, holds]): Check => [
    says,
    (value) => (value === null && each['nullable'] === true) || holds(value),
  ]);
  const map = { type: 'object', additionalProperties: each, ...said };
  return both(field(map, [isObject, ...checksOf(sizes, said)]), Items(orNull));
}

/** Another DTO. */
export const Nested = (type: Type, said: Said = {}): PropertyDecorator =>
  both(
    field({ type, ...said }, [isObject], same, (value) => instanceOf(type, value)),
    rules.ValidateNested(),
  );

/** A list of other DTOs. */
export function NestedList(type: Type, maxItems: number, said: Said = {}): PropertyDecorator {
  const schema = { type: [type], maxItems, ...said };
  const dtos: Convert = (value) =>
    rules.isArray(value) && value.length <= maxItems ? value.map((item) => instanceOf(type, item)) : value;
  return both(
    field(schema, [isList, ...checksOf(sizes, schema)], same, dtos),
    Items([isObject]),
    rules.ValidateNested(),
  );
}

const isMoment = 'must be an ISO 8601 time, such as 2026-01-23T10:30:00Z';

/** A time in a query, which becomes a Date. */
export const OptionalMoment = (said: Said): PropertyDecorator =>
  field({ required: false, ...said }, [[isMoment, rules.isDate]], (text) =>
    typeof text === 'string' ? momentOf(text) : text,
  );

/** A time in a body, which stays text. */
export const MomentText = (said: Said): PropertyDecorator =>
  field({ type: String, format: 'date-time', ...said }, [
    isText,
    [isMoment, (text) => rules.isDate(momentOf(text as string))],
  ]);

/** How long a list may be, up to a thousand. */
export const Limit = (usual: number, said: Said = {}): PropertyDecorator =>
  OptionalInt(1, 1_000, { default: usual, example: usual, ...said });

/** Where a list goes on. */
export const Cursor = (): PropertyDecorator =>
  OptionalText(512, { example: 'bG9nX3N1bW1hcnk', description: 'nextCursor of the page before' });

/** Which page of a list is wanted. */
export class PageQuery {
  @Limit(100) readonly limit!: number;
  @Cursor() readonly cursor?: string;
}

/** The view of a page of such items: `class ThingPageView extends PageOf(ThingView) {}`. */
export function PageOf<T>(item: Type<T>, said: ApiPropertyOptions = {}): Type<Page<T>> {
  class PageView implements Page<T> {
    @ApiProperty({ type: [item], ...said }) readonly data!: T[];
    @ApiProperty({
      type: String,
      nullable: true,
      example: null,
      description: 'Opaque; null on the last page',
    })
    readonly nextCursor!: string | null;
  }
  return PageView;
}
