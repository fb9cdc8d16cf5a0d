import * as rules from 'class-validator';
import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Exclude, Expose, Transform, Type as TransformTo } from 'class-transformer';
import { instanceOf, QueryText, VIEW } from './dto.pipe.js';
import { inWords, mostProblems } from '../common/field-problems.js';
import type { Page } from './page.js';

/*
 * Decorators for the properties of DTOs: each holds the rules for class-validator and what /openapi.json shows. `said`
 * is the OpenAPI schema; its bounds (maxLength, minimum, maxItems, …) are rules as well. A field of an `Optional…` may be
 * absent.
 */

/** OpenAPI's description of a property. */
export type Said = Readonly<Record<string, unknown>>;
type Says = string | ((value: unknown) => string);
type Check = readonly [says: Says, holds: (value: unknown) => boolean];
type Bounds = Readonly<Record<string, (value: unknown, limit: never) => boolean>>;

const sentence = (says: Says, value: unknown): string => (typeof says === 'string' ? says : says(value));

/** A rule that no other decorator has; `says` follows the field's name, such as "must be a version". */
export const Rule = (says: Says, holds: (value: unknown) => boolean): PropertyDecorator =>
  rules.ValidateBy({
    name: 'rule',
    validator: { validate: holds, defaultMessage: (at) => sentence(says, at?.value) },
  });

/** Checks each item of a list or each value of an object; the problem's pointer leads to the item. */
function Items(checks: readonly Check[]): PropertyDecorator {
  const problemsIn = (all: object): [name: string, detail: string][] => {
    const problems: [string, string][] = [];
    for (const [name, item] of Object.entries(all)) {
      const [says] = checks.find(([, holds]) => !holds(item)) ?? [];
      if (says !== undefined && problems.push([name, sentence(says, item)]) === mostProblems) break;
    }
    return problems;
  };
  const validator = {
    validate: (all: object) => problemsIn(all).length === 0,
    defaultMessage: () => 'has a wrong item',
  };
  return rules.ValidateBy({ name: 'items', validator }, { context: { problemsIn } });
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
const bounds: Bounds = {
  maxLength: rules.maxLength,
  minLength: rules.minLength,
  pattern: (it, pattern: string) => rules.matches(it as string, new RegExp(pattern, 'u')),
  enum: rules.isIn,
  minimum: rules.min,
  maximum: rules.max,
};
const sizes: Bounds = {
  maxItems: rules.arrayMaxSize,
  minItems: rules.arrayMinSize,
  uniqueItems: (it) => rules.arrayUnique(it as unknown[]),
  maxProperties: (it, most: number) => Object.keys(it as object).length <= most,
};
const checksOf = (table: Bounds, said: Said): Check[] =>
  Object.entries(table)
    .filter(([keyword]) => said[keyword] !== undefined)
    .map(([keyword, holds]) => [
      inWords(keyword, said[keyword]) ?? 'is not valid',
      (it) => holds(it, said[keyword] as never),
    ]);

/** class-transformer descends into no value of this type. */
@Exclude()
class Opaque {}

type Convert = (value: unknown) => unknown;
const same: Convert = (value) => value;

/** A property: whether it may be absent or null, its conversion, its checks. */
function field(said: Said, checks: readonly Check[], fromText = same, fromJson = same): PropertyDecorator {
  const { required, nullable, default: usual } = said;
  return applyDecorators(
    ApiProperty(said),
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
  );
}

type Decorator = (said?: Said) => PropertyDecorator;

/** JSON of any form. */
export const FreeJson: Decorator = (said = {}) => field(said, []);

/** A decorator for JSON that one rule alone describes. */
export const Ruled =
  (...rule: Check): Decorator =>
  (said = {}) =>
    field(said, [rule]);

/** A JSON object of any form. */
export const AnyObject: Decorator = (said) =>
  field({ type: 'object', additionalProperties: true, ...said }, [isObject]);

/** Text that may be empty. */
export const AnyText: Decorator = (said = {}) =>
  field({ type: 'string', ...said }, [isText, ...checksOf(bounds, said)]);

/** A name, an id or a reason: text that is not blank. */
export const Text = (maxLength: number, said: Said = {}): PropertyDecorator =>
  AnyText({ minLength: 1, pattern: notBlank, maxLength, ...said });
export const OptionalText = (maxLength: number, said: Said = {}): PropertyDecorator =>
  Text(maxLength, { required: false, ...said });

const toNumber: Convert = (text) =>
  typeof text === 'string' && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;

/** A number that may be left out. */
export const OptionalNum: Decorator = (said = {}) =>
  field(
    { required: false, ...said },
    [typed('number', Number.isFinite), ...checksOf(bounds, said)],
    toNumber,
  );

/** A whole number; both bounds are allowed. */
export function Int(minimum: number, maximum: number | undefined, said: Said = {}): PropertyDecorator {
  const whole = { type: 'integer', minimum, maximum, ...said };
  return field(whole, [isInteger, ...checksOf(bounds, whole)], toNumber);
}
export const OptionalInt = (minimum: number, maximum?: number, said: Said = {}): PropertyDecorator =>
  Int(minimum, maximum, { required: false, ...said });

const toFlag: Convert = (text) => (text === 'true' || text === 'false' ? text === 'true' : text);

/** True or false. */
export const Flag: Decorator = (said = {}) => field(said, [typed('boolean', rules.isBoolean)], toFlag);
export const OptionalFlag: Decorator = (said) => Flag({ required: false, ...said });

/** One of these texts. */
export const OneOf = (values: readonly string[], said: Said = {}): PropertyDecorator =>
  field({ enum: values, ...said }, [isText, ...checksOf(bounds, { enum: values })]);
export const OptionalOneOf = (values: readonly string[], said: Said = {}): PropertyDecorator =>
  OneOf(values, { required: false, ...said });

/** Reads `a,b` in a query as a list of both, like the parameter given twice. */
const toList: Convert = (text) =>
  text === undefined
    ? undefined
    : [text]
        .flat()
        .flatMap((part) => (typeof part === 'string' ? part.split(',').map((word) => word.trim()) : part));

const list = (said: Said, ...ofItems: readonly Check[]): PropertyDecorator =>
  applyDecorators(field(said, [isList, ...checksOf(sizes, said)], toList), Items(ofItems));

/** A list of texts; bounds of length and a pattern are those of the items. */
export const TextList: Decorator = (said = {}) =>
  list({ type: [String], ...said }, isText, ...checksOf(bounds, said));
export const OptionalTextList: Decorator = (said) => TextList({ required: false, ...said });

/** A list of some of these texts. */
export const SomeOf = (values: readonly string[], said: Said = {}): PropertyDecorator =>
  list({ enum: values, isArray: true, ...said }, isText, ...checksOf(bounds, { enum: values }));

/** A list of JSON objects of any form. */
export const ObjectList: Decorator = (said) =>
  list({ type: 'array', items: { type: 'object', additionalProperties: true }, ...said }, isObject);

/** An object from names to texts or to whole numbers, as additionalProperties says; it may be left out. */
export function OptionalMap(said: Said & { readonly additionalProperties: Said }): PropertyDecorator {
  const { additionalProperties: each } = said;
  const checks = [each['type'] === 'integer' ? isInteger : isText, ...checksOf(bounds, each)];
  const orNull = checks.map(([says, holds]): Check => [
    says,
    (value) => (value === null && each['nullable'] === true) || holds(value),
  ]);
  const map = { type: 'object', required: false, ...said };
  return applyDecorators(field(map, [isObject, ...checksOf(sizes, said)]), Items(orNull));
}

/** Another DTO that may be left out. */
export const OptionalNested = (type: Type, said: Said = {}): PropertyDecorator =>
  applyDecorators(
    field({ type, required: false, ...said }, [isObject], same, (value) => instanceOf(type, value)),
    rules.ValidateNested(),
  );

/** A list of other DTOs. */
export function NestedList(type: Type, maxItems: number, said: Said = {}): PropertyDecorator {
  const schema = { type: [type], maxItems, ...said };
  const dtos: Convert = (value) =>
    rules.isArray(value) && value.length <= maxItems ? value.map((item) => instanceOf(type, item)) : value;
  return applyDecorators(
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

/** A time in a body, which stays text; it may be left out. */
export const OptionalMomentText = (said: Said): PropertyDecorator =>
  field({ type: String, format: 'date-time', required: false, ...said }, [
    isText,
    [isMoment, (text) => rules.isDate(momentOf(text as string))],
  ]);

/** Text of a view that may be null. */
export const NullableText = (example: string | null, description?: string): PropertyDecorator =>
  ApiProperty({ type: String, nullable: true, example, description });

/** A body that ignores the members which only its view has, so that the answer of GET can be sent back. */
export const SentBackBy =
  (body: Type): ClassDecorator =>
  (view) =>
    Reflect.defineMetadata(VIEW, view, body);

/** Maximum items of a list, up to a thousand. */
export const Limit = (usual: number, said: Said = {}): PropertyDecorator =>
  OptionalInt(1, 1_000, { default: usual, example: usual, ...said });

/** The cursor of a list's next page. */
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

const isoTime = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A moment as ISO 8601, in UTC where it has no offset; an invalid date for any other text. */
export function momentOf(text: string): Date {
  const [, date = ''] = isoTime.exec(text) ?? [];
  // The engine takes the 30th of February for the 2nd of March.
  if (!isCalendarDay(date)) return new Date(NaN);
  return new Date(/T.*(Z|[+-]\d{2}:?\d{2})$/.test(text) || !text.includes('T') ? text : `${text}Z`);
}

const isCalendarDay = (date: string): boolean => {
  const midnight = new Date(date);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
};
