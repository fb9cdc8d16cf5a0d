import type { ErrorObject } from 'ajv';
import type { FieldProblem } from '../common/errors.js';
import { escapePointer } from '../common/field-problems.js';
import { excessOfCaller } from '../common/json-size.js';
import { memberOf } from './schema-references.js';

/** An input that is valid after its repair. */
export interface Repaired {
  readonly repaired: unknown;
}

/** Problems of an input, none if it is valid; or the input that was meant. */
export type Verdict = readonly FieldProblem[] | Repaired;

/** Passes over an input; each repairs what the one before reports. */
const maxPasses = 32;

type Members = Record<string, unknown>;
type ErrorsOf = (input: unknown) => readonly ErrorObject[];

/**
 * Repairs an input that its schema refuses: models write null for an optional member that they leave out, and lists and
 * objects as JSON in a text. Each error at such a value is an attempt, which the next pass judges.
 * @returns a repaired copy, and the errors that are left; of a valid input itself
 */
export function repaired(
  given: unknown,
  errorsOf: ErrorsOf,
): { input: unknown; errors: readonly ErrorObject[] } {
  if (given === null && errorsOf({}).length === 0) return { input: {}, errors: [] };
  let errors = errorsOf(given);
  // Most errors stand at other values, and a large input takes long to copy.
  const mayHelp = errors.some(({ instancePath }) => {
    const value = valueAt(given, instancePath);
    return value === null || typeof value === 'string';
  });
  if (!mayHelp) return { input: given, errors };
  const repair = new Repair(given);
  for (let pass = 0; pass < maxPasses && errors.length > 0; pass++) {
    const changed = errors.filter((error) => repair.restoresRequired(error) || repair.attempts(error));
    if (changed.length === 0) break;
    errors = errorsOf(repair.input);
  }
  if (errors.length === 0) repair.restoreAllowed(errorsOf);
  return { input: repair.input, errors };
}

/** The value at a pointer as Ajv writes it; undefined if there is none. */
export const valueAt = (root: unknown, pointer: string): unknown =>
  stepsOf(pointer).slice(1).reduce(memberOf, root);

class Repair {
  private readonly holder: Members;
  /** Pointers of nulls that were taken away, and whether they are back because their members are required. */
  private readonly nulls = new Map<string, boolean>();
  /** Pointers of texts that were read as JSON. */
  private readonly read: string[] = [];

  constructor(given: unknown) {
    this.holder = { '': structuredClone(given) };
  }

  get input(): unknown {
    return this.holder[''];
  }

  /** Puts a null back that the error misses: it is wrong, which is more to the point than that it is absent. */
  restoresRequired({ instancePath, params }: ErrorObject): boolean {
    const { missingProperty = '' } = (params ?? {}) as { missingProperty?: string };
    const pointer = `${instancePath}/${escapePointer(missingProperty)}`;
    if (this.nulls.get(pointer) !== false) return false;
    this.nulls.set(pointer, true);
    this.set(pointer, null);
    return true;
  }

  attempts({ instancePath, keyword, params }: ErrorObject): boolean {
    const { parent, name } = this.placeOf(instancePath);
    const value = memberOf(parent, name);
    const isMember = parent !== this.holder && !Array.isArray(parent);
    if (value === null && isMember && !this.nulls.has(instancePath)) return this.remove(instancePath);
    if (typeof value !== 'string' || keyword !== 'type' || this.wasRead(instancePath)) return false;
    const json = jsonIn(value, [(params as { type: string | string[] }).type].flat());
    if (!json) return false;
    this.read.push(instancePath);
    this.set(instancePath, json);
    return true;
  }

  /** Puts back the nulls that the branch allows which turned out to be the one. */
  restoreAllowed(errorsOf: ErrorsOf): void {
    for (const [pointer] of [...this.nulls].slice(0, maxPasses)) {
      this.set(pointer, null);
      if (errorsOf(this.input).length > 0) this.remove(pointer);
    }
  }

  private remove(pointer: string): boolean {
    const { parent, name } = this.placeOf(pointer);
    if (parent) delete parent[name];
    this.nulls.set(pointer, false);
    return parent !== undefined;
  }

  private set(pointer: string, value: unknown): void {
    const { parent, name } = this.placeOf(pointer);
    if (parent)
      Object.defineProperty(parent, name, { value, enumerable: true, writable: true, configurable: true });
  }

  /** A text is read once. Texts in arguments that are a text themselves are those of the call. */
  private wasRead(pointer: string): boolean {
    return this.read.some((each) => pointer === each || (each !== '' && pointer.startsWith(`${each}/`)));
  }

  private placeOf(pointer: string): { parent: Members | undefined; name: string } {
    const steps = stepsOf(pointer);
    const name = steps.pop() ?? '';
    return { parent: steps.reduce<unknown>(memberOf, this.holder) as Members | undefined, name };
  }
}

/** @param types that the schema wants */
function jsonIn(text: string, types: readonly string[]): unknown {
  const [sign] = /[^\s]/.exec(text) ?? [];
  const isWanted = types.includes(sign === '[' ? 'array' : sign === '{' ? 'object' : '');
  if (!isWanted || excessOfCaller(text) !== undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const stepsOf = (pointer: string): string[] =>
  pointer.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
