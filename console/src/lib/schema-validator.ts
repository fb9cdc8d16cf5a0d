import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import {
  ErrorSchemaBuilder,
  type RJSFSchema,
  type RJSFValidationError,
  type ValidationData,
  type ValidatorType,
} from '@rjsf/utils';

/** The address by which parts of a schema find the rest of it. */
const rootId = 'https://schema.invalid/root';

/**
 * Validates form data with JSON Schema 2020-12 by interpreting the schema: compilers such as Ajv need `unsafe-eval`, which
 * the page's policy forbids. The server validates the data again.
 */
export const schemaValidator: ValidatorType = {
  isValid(schema, formData, rootSchema) {
    try {
      return validatorOf(schema, rootSchema).validate(asJson(formData)).valid;
    } catch {
      return false;
    }
  },
  rawValidation: <Result>(schema: RJSFSchema, formData: unknown) => ({
    errors: problemsOf(schema, formData) as Result[],
  }),
  validateFormData(formData: unknown, schema: RJSFSchema): ValidationData<unknown> {
    const errors = problemsOf(schema, formData);
    const builder = new ErrorSchemaBuilder();
    for (const { path, stack } of errors) builder.addErrors(stack, [...path]);
    return { errors, errorSchema: builder.ErrorSchema };
  },
};

/** A problem with its field as a list of names, because names may contain dots. */
interface FieldProblem extends RJSFValidationError {
  readonly path: readonly string[];
}

function problemsOf(schema: RJSFSchema, formData: unknown): FieldProblem[] {
  try {
    const { errors } = new Validator(copyOf(schema), '2020-12', false).validate(asJson(formData));
    return [...withoutOtherBranches(errors).filter(isLeaf).map(asProblem(formData)), ...roundedIn(formData)];
  } catch (error) {
    return [problem([], `The schema cannot be read here: ${String(error)}`)];
  }
}

const tooLarge = `is larger than ${Number.MAX_SAFE_INTEGER}: a number in JSON cannot hold it exactly`;

/** Whole numbers that JavaScript and many clients would round. The server refuses them, too. */
function roundedIn(value: unknown, path: readonly string[] = []): FieldProblem[] {
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    return [problem(path, tooLarge)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => roundedIn(each, [...path, name]));
}

/** A validator of a part of a schema, which may refer to any other part of it. */
function validatorOf(schema: RJSFSchema, root: RJSFSchema): Validator {
  if (schema === root) return new Validator(copyOf(root), '2020-12');
  const validator = new Validator(withRootedRefs(schema) as Schema, '2020-12');
  validator.addSchema({ ...copyOf(root), $id: rootId });
  return validator;
}

/** A copy of a schema, because the validator writes into it where it found each part. */
const copyOf = (schema: RJSFSchema): Schema => structuredClone(schema) as Schema;

/** A part of a schema whose references begin at the root. */
function withRootedRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withRootedRefs);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) =>
      name === '$ref' && typeof each === 'string' && each.startsWith('#')
        ? [name, rootId + each]
        : [name, withRootedRefs(each)],
    ),
  );
}

/** The data without members that are `undefined`: empty fields of a form, which JSON does not have. */
const asJson = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

/** Keywords whose errors only repeat an error below them, which is reported separately. */
const wrappers = new Set([
  'properties',
  'items',
  'prefixItems',
  '$ref',
  'allOf',
  'additionalProperties',
  'if',
]);
const isLeaf = ({ keyword }: OutputUnit): boolean => !wrappers.has(keyword);

/** If all alternatives of a `oneOf` or `anyOf` fail, keeps the errors of the nearest one instead of "matches none". */
const withoutOtherBranches = (errors: readonly OutputUnit[]): readonly OutputUnit[] =>
  errors.reduce<readonly OutputUnit[]>((left, choice) => {
    const { keyword, keywordLocation, instanceLocation, error } = choice;
    if (!['oneOf', 'anyOf'].includes(keyword) || !left.includes(choice)) return left;
    const within = left.filter(
      (each) =>
        each.keywordLocation.startsWith(`${keywordLocation}/`) &&
        `${each.instanceLocation}/`.startsWith(`${instanceLocation}/`),
    );
    const others = left.filter((each) => !within.includes(each));
    // Several alternatives of a `oneOf` match: the errors of the others explain nothing.
    if (keyword === 'oneOf' && !error.includes('(0 matches)')) return others;
    const nearest = nearestBranch(within, keywordLocation);
    return nearest ? [...others.filter((each) => each !== choice), ...nearest] : left;
  }, errors);

/** The errors of the alternative that is nearest to a match. @param at the pointer of the list of alternatives */
function nearestBranch(errors: readonly OutputUnit[], at: string): readonly OutputUnit[] | undefined {
  const branches = Map.groupBy(
    errors,
    ({ keywordLocation }) => keywordLocation.slice(at.length + 1).split('/')[0],
  );
  return [...branches.values()].sort((one, other) => distance(one) - distance(other))[0];
}

/** A different constant outweighs all other errors, because constants tell alternatives apart. */
const distance = (errors: readonly OutputUnit[]): number =>
  errors.filter(isLeaf).reduce((sum, { keyword }) => sum + (keyword === 'const' ? 1_000 : 1), 0);

const asProblem =
  (formData: unknown) =>
  ({ instanceLocation, keyword, error }: OutputUnit): FieldProblem => {
    const path = instanceLocation.split('/').slice(1).map(unescapePointer);
    const within = (value: unknown, part: string): unknown => (value as Record<string, unknown>)[part];
    // The form keeps such a number as the text that was typed.
    if (keyword === 'type' && /^-?\d{16,}$/.test(String(path.reduce(within, formData))))
      return problem(path, tooLarge);
    const missing = keyword === 'required' ? /property "(.+)"/.exec(error)?.[1] : undefined;
    if (missing !== undefined) return problem([...path, missing], 'is required');
    return problem(path, error.replace(/^Instance /, ''));
  };

/** A name as in the data. The validator's pointers are URI fragments. */
const unescapePointer = (part: string): string =>
  decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');

const problem = (path: readonly string[], message: string): FieldProblem => ({
  path,
  message,
  property: path.map((part) => `.${part}`).join(''),
  stack: message,
});
