import type { ErrorObject } from 'ajv';
import type { FieldProblem } from '../common/errors.js';
import { escapePointer, unescapePointer } from '../common/field-problems.js';
import { excessOfCaller } from '../common/json-size.js';
import { memberOf } from './schema-references.js';

/** An input that is valid after its repair. */
interface Repaired {
  readonly repaired: unknown;
}

/** The problems of an input, none if it is valid; or the repaired input. */
export type Verdict = readonly FieldProblem[] | Repaired;

/** Max passes over an input. Each repairs the errors of the previous one. */
const maxPasses = 32;

type Members = Record<string, unknown>;
type ErrorsOf = (input: unknown) => readonly ErrorObject[];

/**
 * Repairs an invalid input: models write null for an optional member, and lists and objects as JSON in a text. Each error at
 * such a value causes an attempt, which the next pass checks.
 * @returns a repaired copy and the remaining errors; a valid input itself
 */
export function repairInput(
  given: unknown,
  errorsOf: ErrorsOf,
): { input: unknown; errors: readonly ErrorObject[] } {
  if (given === null && errorsOf({}).length === 0) return { input: {}, errors: [] };
  let errors = errorsOf(given);
  // Copied on demand: most errors cannot be repaired, and a large input takes long to copy.
  const mayBeRepaired = errors.some(({ instancePath }) => {
    const value = valueAt(given, instancePath);
    return value === null || typeof value === 'string';
  });
  if (!mayBeRepaired) return { input: given, errors };
  const repair = new Repair(given);
  for (let pass = 0; pass < maxPasses && errors.length > 0; pass++) {
    let hasChanged = false;
    for (const error of errors)
      if (repair.restoreIfRequired(error) || repair.tryRepair(error)) hasChanged = true;
    if (!hasChanged) break;
    errors = errorsOf(repair.input);
  }
  if (errors.length === 0) repair.restoreAllowed(errorsOf);
  return { input: repair.input, errors };
}

/** The value at a pointer as Ajv writes it; undefined if there is none. */
export const valueAt = (root: unknown, pointer: string): unknown =>
  stepsOf(pointer).slice(1).reduce(memberOf, root);

/** A copy of an input, and the repairs that were made in it. */
class Repair {
  /** Holds the input as its only member, so that the input itself can be replaced like a member. */
  private readonly holder: Members;
  /** State of each null that was removed, by its pointer. */
  private readonly nulls = new Map<string, 'removed' | 'restored'>();
  /** Pointers of texts that were parsed as JSON. */
  private readonly parsed: string[] = [];

  constructor(given: unknown) {
    this.holder = { '': structuredClone(given) };
  }

  get input(): unknown {
    return this.holder[''];
  }

  /** Restores a null whose member is required: "wrong type" says more than "missing". @returns whether the input changed */
  restoreIfRequired({ instancePath, params }: ErrorObject): boolean {
    const { missingProperty = '' } = (params ?? {}) as { missingProperty?: string };
    const pointer = `${instancePath}/${escapePointer(missingProperty)}`;
    if (this.nulls.get(pointer) !== 'removed') return false;
    this.nulls.set(pointer, 'restored');
    this.set(pointer, null);
    return true;
  }

  /** Removes the null of an optional member, or parses JSON in a text, at the place of an error. @returns whether it did */
  tryRepair({ instancePath, keyword, params }: ErrorObject): boolean {
    const { parent, name } = this.placeOf(instancePath);
    const value = memberOf(parent, name);
    const isMember = parent !== this.holder && !Array.isArray(parent);
    if (value === null && isMember && !this.nulls.has(instancePath)) return this.remove(instancePath);
    if (typeof value !== 'string' || keyword !== 'type' || this.isInParsed(instancePath)) return false;
    const json = jsonIn(value, [(params as { type: string | string[] }).type].flat());
    if (!json) return false;
    this.parsed.push(instancePath);
    this.set(instancePath, json);
    return true;
  }

  /**
   * Restores removed nulls with which the input is valid too: in an `anyOf`, an error of one branch may have removed a null
   * that another branch allows.
   */
  restoreAllowed(errorsOf: ErrorsOf): void {
    for (const [pointer] of [...this.nulls].slice(0, maxPasses)) {
      this.set(pointer, null);
      if (errorsOf(this.input).length > 0) this.remove(pointer);
    }
  }

  /** Removes a null. @returns whether the input changed */
  private remove(pointer: string): boolean {
    const { parent, name } = this.placeOf(pointer);
    if (parent) delete parent[name];
    this.nulls.set(pointer, 'removed');
    return parent !== undefined;
  }

  /** Sets the value at a pointer, also if its name is `__proto__`. */
  private set(pointer: string, value: unknown): void {
    const { parent, name } = this.placeOf(pointer);
    if (parent)
      Object.defineProperty(parent, name, { value, enumerable: true, writable: true, configurable: true });
  }

  /** Whether the value is part of a text that was parsed already: a text is parsed once. */
  private isInParsed(pointer: string): boolean {
    return this.parsed.some((each) => pointer === each || (each !== '' && pointer.startsWith(`${each}/`)));
  }

  /** The parent of the value at a pointer, and the value's name in it. */
  private placeOf(pointer: string): { parent: Members | undefined; name: string } {
    const steps = stepsOf(pointer);
    const name = steps.pop() ?? '';
    return { parent: steps.reduce<unknown>(memberOf, this.holder) as Members | undefined, name };
  }
}

/** The JSON in a text, if it has one of the types. */
function jsonIn(text: string, types: readonly string[]): unknown {
  const [first] = /[^\s]/.exec(text) ?? [];
  const isWanted = types.includes(first === '[' ? 'array' : first === '{' ? 'object' : '');
  if (!isWanted || excessOfCaller(text) !== undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The names in a pointer, unescaped; the first is empty. */
const stepsOf = (pointer: string): string[] => pointer.split('/').map(unescapePointer);
