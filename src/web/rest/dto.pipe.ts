import { type ArgumentMetadata, type Type, ValidationPipe } from '@nestjs/common';
import { DECORATORS } from '@nestjs/swagger';
import { plainToInstance } from 'class-transformer';
import { isObject, type ValidationError } from 'class-validator';
import { type FieldProblem, invalidRequest } from '../../base/common/errors.js';
import { nearestName } from '../../base/common/nearest-name.js';
import { escapePointer, maxProblems, storageProblems } from '../../base/common/field-problems.js';

type Members = Readonly<Record<string, unknown>>;

/** Base of DTOs of queries and paths, whose values are all text. */
export class QueryText {}

/** Nest's validation of bodies, queries and paths. It reports each invalid field once, and rejects unknown fields. */
export class DtoPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      stopAtFirstError: true,
      // Names the class, whose fields are suggested.
      validationError: { target: true },
      exceptionFactory: (errors) => invalidRequest(...firstProblems(errors)),
    });
  }

  /** @throws Problem `invalid_request` that lists all invalid fields */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { metatype, type } = metadata;
    if (!metatype || !this.toValidate(metadata)) return super.transform(value, metadata);
    const given = value ?? {};
    if (!isMembers(given)) throw invalidRequest({ pointer: '', detail: 'must be object' });
    const plain = type === 'body' ? changeable(metatype, given) : inSnakeCase(metatype, given);
    // class-transformer would silently drop members with the names of inherited ones, such as `constructor`.
    const inherited = Object.keys(plain).find((name) => name in Object.prototype);
    if (inherited !== undefined) throw invalidRequest({ pointer: `/${inherited}`, detail: notKnown });
    const known = withoutSurplus(metatype, plain);
    const source = type === 'body' ? known : Object.assign(new QueryText(), known);
    const dto = withoutUnset((await super.transform(source, metadata)) as object);
    const problems = storageProblems(plain, '');
    if (problems.length > 0) throw invalidRequest(...problems.slice(0, maxProblems));
    return dto;
  }

  /** Validates a value that is not part of a request, such as a file. */
  async read<T extends object>(type: Type<T>, value: unknown, from: 'body' | 'query' = 'body'): Promise<T> {
    return (await this.transform(value, { type: from, metatype: type })) as T;
  }

  /** Overridden to do nothing: free JSON may have `__proto__` members, and class-transformer does not descend into it. */
  protected override stripProtoKeys(): void {}
}

const notKnown = 'is not a known field';
const isMembers = (value: unknown): value is Members => isObject(value);

/** Converts an object to an instance of the class; other values stay as they are. */
export const instanceOf = (type: Type, value: unknown): unknown =>
  isMembers(value) ? withoutUnset(plainToInstance(type as Type<object>, withoutSurplus(type, value))) : value;

/** Removes undefined properties: declared class fields exist even if they were not given. */
function withoutUnset<T extends object>(dto: T): T {
  for (const [name, value] of Object.entries(dto)) if (value === undefined) delete dto[name as keyof T];
  return dto;
}

/** Keeps the known members, and enough unknown ones to be rejected, without their values. */
function withoutSurplus(type: Type, members: Members): Members {
  const properties = propertiesOf(type);
  const known = Object.entries(members).filter(([name]) => properties.has(name));
  const unknown = Object.keys(members).filter((name) => !properties.has(name));
  return {
    ...Object.fromEntries(unknown.slice(0, maxProblems).map((name) => [name, null])),
    ...Object.fromEntries(known),
  };
}

/** The problems of the items of a value, by their names; see `Items` in dto.ts. */
type ItemProblems = (all: unknown) => [string, string][];

function firstProblems(errors: readonly ValidationError[]): FieldProblem[] {
  const found: FieldProblem[] = [];
  for (const problem of problemsOf(errors, '')) {
    found.push(problem);
    if (found.length === maxProblems) break;
  }
  return found;
}

/** Yields problems one by one, because only the first are reported and suggestions for unknown fields cost time. */
function* problemsOf(errors: readonly ValidationError[], above: string): Generator<FieldProblem, void> {
  for (const error of errors) {
    const { property, constraints, contexts, children = [] } = error;
    const pointer = `${above}/${escapePointer(property)}`;
    const { problemsIn } = (contexts?.['items'] ?? {}) as { problemsIn?: ItemProblems };
    const [[rule, detail] = ['', '']] = Object.entries(constraints ?? {});
    if (!constraints) yield* problemsOf(children, pointer);
    else if (problemsIn)
      for (const [name, wrong] of problemsIn(error.value as unknown))
        yield { pointer: `${pointer}/${escapePointer(name)}`, detail: wrong };
    else yield { pointer, detail: rule === 'whitelistValidation' ? unknownField(error) : detail };
  }
}

/** The sentence for an unknown field, with the name that was probably meant. */
function unknownField({ property, target = {} }: ValidationError): string {
  const meant = nearestName(property, propertiesOf(target.constructor).keys());
  return meant === undefined ? notKnown : `${notKnown}: did you mean "${meant}"?`;
}

/** Metadata key of a body: the view with which the resource is answered. */
export const VIEW = 'toolkeeper:view';

/** The members of a body without those that a view only shows, so that the answer of GET can be sent back. */
function changeable(type: Type, body: Members): Members {
  const view = Reflect.getOwnMetadata(VIEW, type) as Type | undefined;
  if (!view) return body;
  const accepted = propertiesOf(type);
  const shown = propertiesOf(view);
  const isChange = (name: string, value: unknown): boolean => {
    const [member, shownMember] = [accepted.get(name), shown.get(name)];
    if (!shownMember) return true;
    if (!member) return false;
    // Some views show a list where the body takes an object, and null for an absent member.
    const isShownList = shownMember['isArray'] === true && member['type'] === 'object';
    if (isShownList && Array.isArray(value) && value.every(isObject)) return false;
    return value !== null || shownMember['nullable'] !== true || member['nullable'] === true;
  };
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => isChange(name, value)));
}

/** Accepts camel case for snake-case parameters: `threadIds` for `thread_ids`. */
function inSnakeCase(type: Type, query: Members): Members {
  const properties = propertiesOf(type);
  const nameOf = (given: string): string => {
    const snake = given.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
    return properties.has(snake) ? snake : given;
  };
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [nameOf(name), value]));
}

/** The properties of a DTO with their Swagger metadata. */
export function propertiesOf({ prototype }: { prototype: object }): ReadonlyMap<string, Members> {
  const marked = (Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, prototype) ?? []) as string[];
  // Swagger stores each name with a colon in front.
  const names = marked.map((name) => name.slice(1));
  const metadata = (name: string): unknown =>
    Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, prototype, name);
  return new Map(names.map((name) => [name, metadata(name) as Members]));
}
