import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '../../common/json.js';
import type { JsonSchema } from '../../schemas/json-schema.js';
import { plainHeader } from './mcp-revisions.js';

/** A member of a tool's input that its clients repeat in a header, for what stands between to route by. */
interface RepeatedMember {
  readonly path: readonly string[];
  readonly header: string;
}

const prefix = 'Mcp-Param-';
/** The schema of a member says with it which header repeats the member. */
const annotation = 'x-mcp-header';

/** Headers that repeat members of an input, from 2026-07-28 on: they are held against what is run. */
export class ParamHeaders {
  private readonly known = new WeakMap<JsonSchema, readonly RepeatedMember[]>();

  /** @returns the header that lacks or differs from its member */
  wrong(schema: JsonSchema, input: object, headers: IncomingHttpHeaders): string | undefined {
    const members = this.known.get(schema) ?? [...membersOf(schema, [])];
    this.known.set(schema, members);
    const differing = members.find(({ path, header }) => {
      const value = path.reduce<unknown>(memberOf, input);
      return isPlain(value) && !isSame(plainHeader(headers[`${prefix}${header}`.toLowerCase()]), value);
    });
    return differing && `${prefix}${differing.header}`;
  }
}

/** Members of members included; nothing else of a schema may have the annotation. */
function* membersOf(schema: JsonSchema, path: readonly string[]): Generator<RepeatedMember> {
  const header = schema[annotation];
  if (typeof header === 'string' && path.length > 0) yield { path, header };
  const { properties } = schema;
  if (!isObject(properties)) return;
  for (const [name, member] of Object.entries(properties))
    if (isObject(member)) yield* membersOf(member, [...path, name]);
}

const isPlain = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value);

/** 42 and 42.0 are one number. */
const isSame = (said: string | undefined, value: string | number | boolean): boolean =>
  said === String(value) ||
  (typeof value === 'number' && said !== undefined && /^-?[\d.]+$/.test(said) && Number(said) === value);

const memberOf = (of: unknown, name: string): unknown =>
  isObject(of) && Object.hasOwn(of, name) ? of[name] : undefined;
