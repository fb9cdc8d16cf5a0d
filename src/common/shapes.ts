import type { ArgumentMetadata, PipeTransform, Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, DECORATORS } from '@nestjs/swagger';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { ValidateBy, validateSync } from 'class-validator';
import { asFieldProblem, escapePointer, onePerField, unstorable } from './field-problems.js';
import { type FieldProblem, invalidRequest } from './errors.js';
import type { Page } from './page.js';
import { momentOf } from './moments.js';

/*
 * A shape is a class whose properties say with ApiProperty what they hold. That is what /openapi.json shows, and what a
 * body or a query is held against.
 */

type Schema = Readonly<Record<string, unknown>>;

/**
 * A rule that no JSON Schema can say, for class-validator; `says` goes on after the field's name, such as "must be a
 * semantic version".
 */
export const Rule = (says: string, holds: (value: unknown) => boolean): PropertyDecorator =>
  ValidateBy({ name: says, validator: { validate: holds, defaultMessage: () => says } });

/** A name, an id or a reason: text that is not empty. */
export const Text = (maxLength: number, said: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty({ type: 'string', minLength: 1, pattern: '\\S', maxLength, ...said });

/** Text that may be left out. */
export const OptionalText = (maxLength: number, said: ApiPropertyOptions = {}): PropertyDecorator =>
  Text(maxLength, { required: false, ...said } as ApiPropertyOptions);

/** A whole number that may be left out; both bounds are allowed. */
export const OptionalInt = (
  minimum: number,
  maximum: number,
  said: ApiPropertyOptions = {},
): PropertyDecorator =>
  ApiProperty({ type: 'integer', minimum, maximum, required: false, ...said } as ApiPropertyOptions);

/** How long a list may be, up to a thousand. */
export const Limit = (usual: number, said: ApiPropertyOptions = {}): PropertyDecorator =>
  OptionalInt(1, 1_000, { default: usual, example: usual, ...said });

/** Where a list goes on. */
export const Cursor = (): PropertyDecorator =>
  OptionalText(512, { example: 'bG9nX3N1bW1hcnk', description: 'nextCursor of the page before' });

const VIEW = 'toolkeeper:view';

/** A body that ignores the members which only its view has, so that the answer of GET can be sent back. */
export const SentBackBy =
  (body: Type): ClassDecorator =>
  (view) =>
    Reflect.defineMetadata(VIEW, view, body);

/** A body without the members that cannot be changed. */
function changeable(shape: Type, body: unknown): unknown {
  const view = Reflect.getOwnMetadata(VIEW, shape) as Type | undefined;
  if (!view || typeof body !== 'object' || body === null) return body;
  const own = new Map(propertiesOf(shape));
  const shown = new Map(propertiesOf(view));
  // A view shows null where nothing was given, or a list of what the body takes as an object.
  const isShown = (name: string, value: unknown): boolean =>
    Array.isArray(value) && shown.get(name)?.isArray === true && own.get(name)?.type === 'object';
  const isChange = (name: string, value: unknown): boolean =>
    own.has(name) && !isShown(name, value)
      ? value !== null || shown.get(name)?.['nullable'] !== true || own.get(name)?.['nullable'] === true
      : !shown.has(name);
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => isChange(name, value)));
}

/** A JSON object of any shape. */
export const AnyObject = (said: ApiPropertyOptions): PropertyDecorator =>
  ApiProperty({ type: 'object', additionalProperties: true, ...said } as ApiPropertyOptions);

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

/** Reads what a handler takes: every wrong field is named once, and fields that the shape does not know are refused. */
export class ShapePipe implements PipeTransform {
  private readonly compiled = new Map<Type, Validators>();

  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (!metatype || propertiesOf(metatype).length === 0) return value;
    return this.read(metatype, changeable(metatype, value ?? {}), type === 'body');
  }

  /**
   * @param asJson false: each value is a text, as a query or a path has it, and is converted to what the shape says
   * @returns the value itself, with what the shape gives where it is absent
   * @throws Problem `invalid_request` naming every wrong field; of a value with thousands of parts the first one alone
   */
  read<T>(shape: Type<T>, value: unknown, asJson = true): T {
    const given = asJson ? value : { ...listed(shape, value as Record<string, unknown>) };
    const { first, all } = this.validators(shape, !asJson);
    const problems = first(given)
      ? unstorable(given, '')
      : problemsIn(hasManyParts(given) ? first : all(given));
    if (problems.length > 0) throw invalidRequest(...onePerField(problems));
    return (asJson ? given : dated(shape, given as Record<string, unknown>)) as T;
  }

  private validators(shape: Type, coerceTypes: boolean): Validators {
    const known = this.compiled.get(shape);
    if (known) return known;
    const schema = schemaOf(shape);
    let every: ValidateFunction | undefined;
    const all = (value: unknown): ValidateFunction => {
      every ??= compile(schema, { coerceTypes, allErrors: true });
      every(value);
      return every;
    };
    const validators = { first: compile(schema, { coerceTypes, allErrors: false }), all };
    this.compiled.set(shape, validators);
    return validators;
  }
}

interface Validators {
  /** Stops at the first problem. */
  readonly first: ValidateFunction;
  /** @returns what holds all problems of the value */
  readonly all: (value: unknown) => ValidateFunction;
}

/** A body may break its shape a hundred thousand times: to find them all would hold up every other request. */
const manyParts = 2_000;

function hasManyParts(value: unknown): boolean {
  let left = manyParts;
  const isOver = (part: unknown): boolean => {
    if (typeof part !== 'object' || part === null) return false;
    for (const name in part) if (--left < 0 || isOver((part as Schema)[name])) return true;
    return false;
  };
  return isOver(value);
}

/** A rule says best what a value should be. */
function problemsIn({ errors }: ValidateFunction): FieldProblem[] {
  const [rules, others] = [errors?.filter(isRule) ?? [], errors?.filter((error) => !isRule(error)) ?? []];
  return [...rules, ...others].map(asFieldProblem);
}

const isRule = ({ keyword }: { keyword: string }): boolean => keyword === 'rulesOf';

function compile(
  schema: Schema,
  { coerceTypes, allErrors }: { readonly coerceTypes: boolean; readonly allErrors: boolean },
): ValidateFunction {
  const ajv = new Ajv2020({
    strict: false,
    allErrors,
    verbose: true,
    ownProperties: true,
    coerceTypes,
    // What a change leaves out stays as it is.
    useDefaults: coerceTypes,
    logger: false,
    formats: { 'date-time': (text: string) => !Number.isNaN(momentOf(text).getTime()) },
  });
  ajv.addKeyword({ keyword: 'rulesOf', type: 'object', validate: rulesKeyword(), errors: true });
  return ajv.compile(schema);
}

interface RulesKeyword {
  (
    shape: Type,
    value: Readonly<Record<string, unknown>>,
    _?: unknown,
    at?: { instancePath: string },
  ): boolean;
  errors?: object[];
}

function rulesKeyword(): RulesKeyword {
  const holds: RulesKeyword = (shape, value, _, at) => {
    const known = propertiesOf(shape).filter(([name]) => Object.hasOwn(value, name));
    const instance = Object.create(shape.prototype as object) as Record<string, unknown>;
    for (const [name] of known) instance[name] = value[name];
    const broken = validateSync(instance, { skipMissingProperties: true, forbidUnknownValues: false });
    holds.errors = broken.map(({ property, constraints = {} }) => ({
      keyword: 'rulesOf',
      instancePath: `${at?.instancePath}/${escapePointer(property)}`,
      message: Object.values(constraints).join(', and '),
    }));
    return broken.length === 0;
  };
  return holds;
}

interface Property {
  readonly type?: unknown;
  readonly isArray?: boolean;
  readonly required?: boolean;
  readonly items?: Schema;
  readonly [keyword: string]: unknown;
}

function propertiesOf({ prototype }: { prototype: object }): [name: string, property: Property][] {
  const names = (Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, prototype) ?? []) as string[];
  return names.map((marked) => {
    const name = marked.slice(1);
    const said = Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, prototype, name) as Property;
    return [name, said];
  });
}

/** The JSON Schema of a shape, as the OpenAPI document has it, with its rules. */
function schemaOf(shape: { prototype: object }): Schema {
  const properties = propertiesOf(shape);
  return {
    type: 'object',
    rulesOf: shape,
    additionalProperties: false,
    required: properties.filter(([, { required }]) => required !== false).map(([name]) => name),
    properties: Object.fromEntries(properties.map(([name, property]) => [name, propertySchema(property)])),
  };
}

const ofItems = ['format', 'maximum', 'maxLength', 'minimum', 'minLength', 'pattern'];

/** Of a list, Swagger holds these keywords to be said of its items. */
function propertySchema({ type, isArray, required: _, items, ...keywords }: Property): Schema {
  const own = 'oneOf' in keywords ? {} : typeSchema(type);
  if (!isArray) return { ...own, ...(items && { items }), ...keywords };
  const moved = Object.entries(keywords).filter(([keyword]) => ofItems.includes(keyword));
  const kept = Object.entries(keywords).filter(([keyword]) => !ofItems.includes(keyword));
  return {
    ...Object.fromEntries(kept),
    type: 'array',
    items: { ...(items ?? own), ...Object.fromEntries(moved) },
  };
}

const primitives = new Map<unknown, string>([
  [String, 'string'],
  [Number, 'number'],
  [Boolean, 'boolean'],
]);

function typeSchema(type: unknown): Schema {
  if (typeof type === 'string') return { type };
  if (type === Date) return { type: 'string', format: 'date-time' };
  if (primitives.has(type)) return { type: primitives.get(type) };
  // Without a type of its own a property holds any JSON.
  return type === Object || typeof type !== 'function' ? {} : schemaOf(type);
}

/** `a,b` stands for a list of both, as the parameter given twice does. */
function listed(shape: Type, query: Record<string, unknown>): Record<string, unknown> {
  const lists = new Set(propertiesOf(shape).flatMap(([name, { isArray }]) => (isArray ? [name] : [])));
  const parts = (value: unknown): unknown =>
    typeof value === 'string' ? value.split(',').map((word) => word.trim()) : [value];
  return Object.fromEntries(
    Object.entries(query).map(([given, value]) => {
      const name = nameIn(shape, given);
      return [name, lists.has(name) ? [value].flat().flatMap(parts) : value];
    }),
  );
}

/** A parameter in snake case may be written in camel case as well: `threadIds` for `thread_ids`. */
function nameIn(shape: Type, given: string): string {
  const snake = given.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
  return propertiesOf(shape).some(([name]) => name === snake) ? snake : given;
}

function dated(shape: Type, query: Record<string, unknown>): Record<string, unknown> {
  for (const [name, { type }] of propertiesOf(shape)) {
    const value = query[name];
    if (type === Date && typeof value === 'string') query[name] = momentOf(value);
  }
  return query;
}
