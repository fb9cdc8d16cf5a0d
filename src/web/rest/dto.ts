import * as rules from 'class-validator';
import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { Exclude, Expose, Transform, Type as TransformTo } from 'class-transformer';
import { instanceOf, QueryText, VIEW } from './dto.pipe.js';
import { inWords, maxProblems } from '../../base/common/field-problems.js';
import type { Page } from './page.js';

/*
 * Decorators for the properties of DTOs. Each sets both the validation rules (class-validator) and the OpenAPI schema.
 * `schema` is the OpenAPI schema; its bounds (maxLength, minimum, maxItems, …) are validated as well. Fields with an
 * `Optional…` decorator may be absent.
 */

/** The OpenAPI schema of a property. */
export type Schema = Readonly<Record<string, unknown>>;
/** A message follows the field's name, for example "must be a version". */
type Message = string | ((value: unknown) => string);
type Check = readonly [message: Message, isValid: (value: unknown) => boolean];
type Bounds = Readonly<Record<string, (value: unknown, limit: never) => boolean>>;

const messageFor = (message: Message, value: unknown): string =>
  typeof message === 'string' ? message : message(value);

/** A custom rule. */
export const Rule = (...[message, isValid]: Check): PropertyDecorator =>
  rules.ValidateBy({
    name: 'rule',
    validator: { validate: isValid, defaultMessage: (at) => messageFor(message, at?.value) },
  });

/** Checks each item of a list or each value of an object; the problem's pointer names the item. */
function Items(checks: readonly Check[]): PropertyDecorator {
  const problemsIn = (all: object): [name: string, detail: string][] => {
    const problems: [string, string][] = [];
    for (const [name, item] of Object.entries(all)) {
      const [message] = checks.find(([, isValid]) => !isValid(item)) ?? [];
      if (message !== undefined) problems.push([name, messageFor(message, item)]);
      if (problems.length === maxProblems) break;
    }
    return problems;
  };
  const validator = {
    validate: (all: object) => problemsIn(all).length === 0,
    defaultMessage: () => 'has a wrong item',
  };
  return rules.ValidateBy({ name: 'items', validator }, { context: { problemsIn } });
}

const typeCheck = (type: string, isValid: (value: unknown) => boolean): Check => [
  (value) => `must be ${type}${value === null ? ', not null' : ''}`,
  isValid,
];
const textType = typeCheck('string', rules.isString);
const integerType = typeCheck('integer', rules.isInt);
const objectType = typeCheck('object', rules.isObject);
const listType = typeCheck('array', rules.isArray);

const notBlank = '\\S';
/** Bounds of texts and numbers, also as items of lists. */
const bounds: Bounds = {
  maxLength: rules.maxLength,
  minLength: rules.minLength,
  pattern: (it, pattern: string) => rules.matches(it as string, new RegExp(pattern, 'u')),
  enum: rules.isIn,
  minimum: rules.min,
  maximum: rules.max,
};
/** Bounds of lists and objects. */
const sizes: Bounds = {
  maxItems: rules.arrayMaxSize,
  minItems: rules.arrayMinSize,
  uniqueItems: (it) => rules.arrayUnique(it as unknown[]),
  maxProperties: (it, max: number) => Object.keys(it as object).length <= max,
};
const checksOf = (table: Bounds, schema: Schema): Check[] =>
  Object.entries(table)
    .filter(([keyword]) => schema[keyword] !== undefined)
    .map(([keyword, isValid]) => [
      inWords(keyword, schema[keyword]) ?? 'is not valid',
      (it) => isValid(it, schema[keyword] as never),
    ]);

/** Stands for a property's type, so that class-transformer does not convert the value itself. */
@Exclude()
class Opaque {}

type Convert = (value: unknown) => unknown;
const unchanged: Convert = (value) => value;

/**
 * Combines a property's schema, its conversion and its checks, including whether it may be absent or null.
 * @param fromText converts the text of a query or path; `fromJson` the value of a body
 */
function field(
  schema: Schema,
  checks: readonly Check[],
  fromText = unchanged,
  fromJson = unchanged,
): PropertyDecorator {
  const { required, nullable, default: defaultValue } = schema;
  return applyDecorators(
    ApiProperty(schema),
    rules.ValidateIf(
      (_, value) => (value !== undefined || required !== false) && (value !== null || nullable !== true),
    ),
    TransformTo(() => Opaque),
    Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) =>
      obj instanceof QueryText ? (fromText(obj[key]) ?? defaultValue) : fromJson(obj[key]),
    ),
    // Absent properties are converted only if they are exposed.
    ...(defaultValue === undefined ? [] : [Expose()]),
    Rule('is required', (value) => value !== undefined),
    ...checks.map((check) => Rule(...check)),
  );
}

/** A decorator of a property. `schema` adds to its schema. */
type Decorator = (schema?: Schema) => PropertyDecorator;

export const FreeJson: Decorator = (schema = {}) => field(schema, []);

/** A decorator for JSON with a single custom rule. */
export const Ruled =
  (...rule: Check): Decorator =>
  (schema = {}) =>
    field(schema, [rule]);

export const AnyObject: Decorator = (schema) =>
  field({ type: 'object', additionalProperties: true, ...schema }, [objectType]);

export const OptionalObject = (example: object, description?: string): PropertyDecorator =>
  AnyObject({ required: false, example, description });

/** Text that may be empty. */
export const AnyText: Decorator = (schema = {}) =>
  field({ type: 'string', ...schema }, [textType, ...checksOf(bounds, schema)]);

/** A name, an id or a reason: text that is not blank. */
export const Text = (maxLength: number, schema: Schema = {}): PropertyDecorator =>
  AnyText({ minLength: 1, pattern: notBlank, maxLength, ...schema });
export const OptionalText = (maxLength: number, schema: Schema = {}): PropertyDecorator =>
  Text(maxLength, { required: false, ...schema });

/** Pattern of a UUID as PostgreSQL accepts it. */
export const uuid = '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';

const toNumber: Convert = (text) =>
  typeof text === 'string' && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;

export const OptionalNum: Decorator = (schema = {}) =>
  field(
    { required: false, ...schema },
    [typeCheck('number', Number.isFinite), ...checksOf(bounds, schema)],
    toNumber,
  );

/** An integer; both bounds are inclusive. */
export function Int(minimum: number, maximum: number | undefined, schema: Schema = {}): PropertyDecorator {
  const whole = { type: 'integer', minimum, maximum, ...schema };
  return field(whole, [integerType, ...checksOf(bounds, whole)], toNumber);
}
export const OptionalInt = (minimum: number, maximum?: number, schema: Schema = {}): PropertyDecorator =>
  Int(minimum, maximum, { required: false, ...schema });

const toFlag: Convert = (text) => (text === 'true' || text === 'false' ? text === 'true' : text);

export const Flag: Decorator = (schema = {}) =>
  field(schema, [typeCheck('boolean', rules.isBoolean)], toFlag);
export const OptionalFlag: Decorator = (schema) => Flag({ required: false, ...schema });

export const OneOf = (values: readonly string[], schema: Schema = {}): PropertyDecorator =>
  field({ enum: values, ...schema }, [textType, ...checksOf(bounds, { enum: values })]);
export const OptionalOneOf = (values: readonly string[], schema: Schema = {}): PropertyDecorator =>
  OneOf(values, { required: false, ...schema });

/** The list in a query: `a,b` means the same as the parameter given twice. */
const toList: Convert = (text) => {
  if (text === undefined) return undefined;
  const itemsIn = (part: unknown): unknown =>
    typeof part === 'string' ? part.split(',').map((item) => item.trim()) : part;
  return [text].flat().flatMap(itemsIn);
};

const list = (schema: Schema, ...ofItems: readonly Check[]): PropertyDecorator =>
  applyDecorators(field(schema, [listType, ...checksOf(sizes, schema)], toList), Items(ofItems));

/** A list of strings; `maxLength`, `minLength` and `pattern` apply to the items. */
export const TextList: Decorator = (schema = {}) =>
  list({ type: [String], ...schema }, textType, ...checksOf(bounds, schema));
export const OptionalTextList: Decorator = (schema) => TextList({ required: false, ...schema });

/** A list of values from an enum. */
export const SomeOf = (values: readonly string[], schema: Schema = {}): PropertyDecorator =>
  list({ enum: values, isArray: true, ...schema }, textType, ...checksOf(bounds, { enum: values }));

export const ObjectList: Decorator = (schema) =>
  list({ type: 'array', items: { type: 'object', additionalProperties: true }, ...schema }, objectType);

/** An optional object. Its values are strings or integers, depending on `additionalProperties`, or pass `isItem`. */
export function OptionalMap(
  schema: Schema & { readonly additionalProperties: Schema },
  isItem: Check = schema.additionalProperties['type'] === 'integer' ? integerType : textType,
): PropertyDecorator {
  const { additionalProperties: each } = schema;
  const checks = [isItem, ...checksOf(bounds, each)];
  const orNull = checks.map(([message, isValid]): Check => [
    message,
    (value) => (value === null && each['nullable'] === true) || isValid(value),
  ]);
  const map = { type: 'object', required: false, ...schema };
  return applyDecorators(field(map, [objectType, ...checksOf(sizes, schema)]), Items(orNull));
}

export const OptionalNested = (type: Type, schema: Schema = {}): PropertyDecorator =>
  applyDecorators(
    field({ type, required: false, ...schema }, [objectType], unchanged, (value) => instanceOf(type, value)),
    rules.ValidateNested(),
  );

export function NestedList(type: Type, maxItems: number, schema: Schema = {}): PropertyDecorator {
  const merged = { type: [type], maxItems, ...schema };
  const dtos: Convert = (value) =>
    rules.isArray(value) && value.length <= maxItems ? value.map((item) => instanceOf(type, item)) : value;
  return applyDecorators(
    field(merged, [listType, ...checksOf(sizes, merged)], unchanged, dtos),
    Items([objectType]),
    rules.ValidateNested(),
  );
}

const momentRule = 'must be an ISO 8601 time, such as 2026-01-23T10:30:00Z';

/** An optional time in a query, converted to a Date. */
export const OptionalMoment = (schema: Schema): PropertyDecorator =>
  field({ required: false, ...schema }, [[momentRule, rules.isDate]], (text) =>
    typeof text === 'string' ? momentOf(text) : text,
  );

/** An optional time in a body, which stays a string. */
export const OptionalMomentText = (schema: Schema): PropertyDecorator =>
  field({ type: String, format: 'date-time', required: false, ...schema }, [
    textType,
    [momentRule, (text) => rules.isDate(momentOf(text as string))],
  ]);

/** Creates a decorator for a property of a view. Views are answers, so nothing is validated. */
const Shown =
  <T>(schema: Schema) =>
  (example: T, description?: string): PropertyDecorator =>
    ApiProperty({ ...schema, example, description });
const moment = { type: String, format: 'date-time' };

export const Example = Shown<unknown>({});
export const OptionalExample = Shown<unknown>({ required: false });
export const Texts = Shown<readonly string[]>({ type: [String] });
export const Numbers = Shown<readonly number[]>({ type: [Number] });
export const NullableText = Shown<string | null>({ type: String, nullable: true });
export const NullableTexts = Shown<readonly string[] | null>({ type: [String], nullable: true });
export const NullableNumber = Shown<number | null>({ type: Number, nullable: true });
export const NullableMoment = Shown<string | null>({ ...moment, nullable: true });
export const Moment = (example = '2026-01-23T10:30:00.000Z'): PropertyDecorator => Shown(moment)(example);
export const OneOfThese = (values: readonly string[], example: string, description?: string) =>
  ApiProperty({ enum: values, example, description });
export const TextMap = Shown<object>({ type: 'object', additionalProperties: { type: 'string' } });

export const Many = (view: Type, description?: string): PropertyDecorator =>
  ApiProperty({ type: [view], description });

/** Another view, or null: `nullable` beside a `$ref` would still require an object. */
export const OrNull = (view: Type, description?: string): PropertyDecorator =>
  ApiProperty({
    anyOf: [{ $ref: getSchemaPath(view) }, { type: 'object', nullable: true, enum: [null] }],
    description,
  });

/** Lets `body` ignore members that only the decorated view has, so that the answer of GET can be sent back. */
export const SentBackBy =
  (body: Type): ClassDecorator =>
  (view) =>
    Reflect.defineMetadata(VIEW, view, body);

export const Limit = (defaultValue: number, schema: Schema = {}): PropertyDecorator =>
  OptionalInt(1, 1_000, { default: defaultValue, example: defaultValue, ...schema });

export const Cursor = (): PropertyDecorator =>
  OptionalText(512, { example: 'bG9nX3N1bW1hcnk', description: 'nextCursor of the page before' });

export class PageQuery {
  @Limit(100) readonly limit!: number;
  @Cursor() readonly cursor?: string;
}

export const maxProjectLength = 256;

export class ProjectQuery {
  @AnyText({
    required: false,
    maxLength: maxProjectLength,
    example: 'support',
    description: "One of the key's; wins over `x-project-id`. Lists take `*` as well: all projects",
  })
  readonly project?: string;
}

/** The path of the routes of one tool. */
export class ToolParams {
  @Text(256, { example: 'log_summary' }) readonly tool!: string;
}

/** Creates the view of a page: `class ThingPageView extends PageOf(ThingView) {}`. */
export function PageOf<T>(item: Type<T>, schema: ApiPropertyOptions = {}): Type<Page<T>> {
  class PageView implements Page<T> {
    @ApiProperty({ type: [item], ...schema }) readonly data!: T[];
    @NullableText(null, 'Opaque; null on the last page') readonly nextCursor!: string | null;
  }
  return PageView;
}

const isoTime = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** Parses an ISO 8601 time, in UTC if it has no offset. Returns an invalid Date for any other text. */
function momentOf(text: string): Date {
  const [, date = ''] = isoTime.exec(text) ?? [];
  // `Date` accepts the 30th of February as the 2nd of March.
  if (!isCalendarDay(date)) return new Date(NaN);
  const hasOffset = !text.includes('T') || /(Z|[+-]\d{2}:?\d{2})$/.test(text);
  return new Date(hasOffset ? text : `${text}Z`);
}

const isCalendarDay = (date: string): boolean => {
  const midnight = new Date(date);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
};
