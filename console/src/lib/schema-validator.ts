import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import {
  type CustomValidator,
  type ErrorTransformer,
  type RJSFSchema,
  type RJSFValidationError,
  toErrorSchema,
  type ValidationData,
  type ValidatorType,
} from '@rjsf/utils';

/** The address by which parts of a schema find the rest of it. */
const rootId = 'https://schema.invalid/root';

/**
 * Holds form data against JSON Schema 2020-12 by interpreting it: what compiles (Ajv) needs `unsafe-eval`, which the page's
 * policy forbids. The server's own check is the last word.
 */
export const schemaValidator: ValidatorType = {
  isValid(schema, formData, rootSchema) {
    try {
      return validatorOf(schema, rootSchema).validate(plain(formData)).valid;
    } catch {
      return false;
    }
  },
  rawValidation: <Result>(schema: RJSFSchema, formData: unknown) => ({
    errors: problemsOf(schema, formData) as Result[],
  }),
  validateFormData(
    formData: unknown,
    schema: RJSFSchema,
    _custom?: CustomValidator,
    transform?: ErrorTransformer,
  ): ValidationData<unknown> {
    const found = problemsOf(schema, formData);
    const errors = transform ? transform(found) : found;
    return { errors, errorSchema: toErrorSchema(errors) };
  },
};

function problemsOf(schema: RJSFSchema, formData: unknown): RJSFValidationError[] {
  try {
    const { errors } = new Validator(own(schema), '2020-12', false).validate(plain(formData));
    return [...ofNearest(errors).filter(isLeaf).map(asProblem(formData)), ...roundedIn(formData)];
  } catch (error) {
    return [problem([], `The schema cannot be read here: ${String(error)}`)];
  }
}

const tooLarge = `is larger than ${Number.MAX_SAFE_INTEGER}: send it as text`;

/** Whole numbers that JavaScript and many clients would round. The server refuses them, too. */
function roundedIn(value: unknown, path: readonly string[] = []): RJSFValidationError[] {
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    return [problem(path, tooLarge)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => roundedIn(each, [...path, name]));
}

/** A part of a schema may refer to any other part of the whole. */
function validatorOf(schema: RJSFSchema, root: RJSFSchema): Validator {
  if (schema === root) return new Validator(own(root), '2020-12');
  const validator = new Validator(aimedAtRoot(schema) as Schema, '2020-12');
  validator.addSchema({ ...own(root), $id: rootId });
  return validator;
}

/** The validator writes into the schema where it found each part. */
const own = (schema: RJSFSchema): Schema => structuredClone(schema) as Schema;

function aimedAtRoot(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(aimedAtRoot);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) =>
      name === '$ref' && typeof each === 'string' && each.startsWith('#')
        ? [name, rootId + each]
        : [name, aimedAtRoot(each)],
    ),
  );
}

/** A form leaves fields that are not filled in as `undefined`, which JSON does not have. */
const plain = (value: unknown): unknown =>
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

/** If all alternatives fail, keeps the errors of the nearest one instead of "matches none". */
const ofNearest = (errors: readonly OutputUnit[]): readonly OutputUnit[] =>
  errors.reduce<readonly OutputUnit[]>((left, choice) => {
    const { keyword, keywordLocation: place, instanceLocation: at, error } = choice;
    if (!['oneOf', 'anyOf'].includes(keyword) || !left.includes(choice)) return left;
    const within = left.filter(
      (each) =>
        each.keywordLocation.startsWith(`${place}/`) && `${each.instanceLocation}/`.startsWith(`${at}/`),
    );
    const others = left.filter((each) => !within.includes(each));
    if (keyword === 'oneOf' && !error.includes('(0 matches)')) return others;
    const branchOf = ({ keywordLocation }: OutputUnit) =>
      keywordLocation.slice(place.length + 1).split('/')[0];
    const branches = [...new Set(within.map(branchOf))].map((branch) =>
      within.filter((each) => branchOf(each) === branch),
    );
    const [nearest = []] = branches.sort((one, other) => distance(one) - distance(other));
    return nearest.length === 0 ? left : [...others.filter((each) => each !== choice), ...nearest];
  }, errors);

/** A constant tells alternatives apart: one that differs outweighs whatever else is wrong. */
const distance = (errors: readonly OutputUnit[]): number =>
  errors.filter(isLeaf).reduce((sum, { keyword }) => sum + (keyword === 'const' ? 1_000 : 1), 0);

const asProblem =
  (formData: unknown) =>
  ({ instanceLocation, keyword, error }: OutputUnit) => {
    const path = instanceLocation.split('/').slice(1).map(unescape);
    const within = (value: unknown, part: string): unknown => (value as Record<string, unknown>)[part];
    // The form keeps such a number as the text that was typed.
    if (keyword === 'type' && /^-?\d{16,}$/.test(String(path.reduce(within, formData))))
      return problem(path, tooLarge);
    const missing = keyword === 'required' ? /property "(.+)"/.exec(error)?.[1] : undefined;
    if (missing !== undefined) return problem([...path, missing], 'is required');
    return problem(path, error.replace(/^Instance /, ''));
  };

const unescape = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');

const problem = (path: readonly string[], message: string): RJSFValidationError => ({
  message,
  property: path.map((part) => `.${part}`).join(''),
  stack: message,
});
