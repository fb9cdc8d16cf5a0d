import { Random } from '../chaos/random.js';
import type { Json } from '../support/json.js';
import { type Case, shapes } from './shapes.js';

/** One schema and the inputs that are tried with it. */
export interface Group {
  readonly what: string;
  readonly schema: Json;
  /** Made when they are needed: all of them together would not fit into the memory. */
  readonly inputs: readonly (() => unknown)[];
}

const schemaSizes = [200, 1_000, 4_000, 16_000, 60_000];
const inputSizes = [1_000, 30_000, 200_000, 1_000_000];
const names = ['a', 'b', 'c', 'toString', 'valueOf', 'ä/~'];
const scalars = [null, true, 0, -1, 1.5, 1e300, '', 'a', 'abab', '\u{1f600}', '0'];

/** Every shape at every size up to the caps, and random schemas with random inputs and those of the shapes. */
export function groupsOf(seed: number, cases: number): Group[] {
  const random = new Random(seed);
  const grown = Object.entries(shapes).flatMap(([what, shape]) =>
    schemaSizes.map((bytes) => ({
      what: `${what}, ${bytes} bytes`,
      schema: shape(bytes, 1).schema,
      inputs: inputSizes.map((size) => () => shape(bytes, size).input),
    })),
  );
  const inputs = grown.flatMap((group) => group.inputs);
  const groups: Group[] = grown;
  for (let n = 0; casesIn(groups) < cases; n++) {
    const schema = {
      $defs: { d0: randomSchema(random, 3), d1: randomSchema(random, 3) },
      ...randomSchema(random, 4),
    };
    const own = [1, 100, 5_000].map((most) => {
      const input = randomInput(random, most);
      return () => input;
    });
    groups.push({ what: `random ${n}`, schema, inputs: [...own, random.of(inputs)] });
  }
  return groups;
}

export const casesIn = (groups: readonly Group[]): number =>
  groups.reduce((sum, { inputs }) => sum + inputs.length, 0);

/** The largest of each shape. */
export const largest = (): (() => Case)[] =>
  Object.entries(shapes).map(([what, shape]) => () => ({ what, ...shape(60_000, 1_000_000) }));

function randomSchema(random: Random, levels: number): Json {
  const schema: Json = {};
  for (let n = random.between(0, 3); n >= 0; n--) Object.assign(schema, randomKeyword(random, levels));
  return schema;
}

function randomKeyword(random: Random, levels: number): Json {
  const leaf = (): Json =>
    random.of([
      {
        type: random.of([
          'object',
          'array',
          'string',
          'number',
          'null',
          ['array', 'object', 'string', 'null'],
        ]),
      },
      { enum: times(random.between(0, 19) + 1, () => randomInput(random, 3)) },
      { const: randomInput(random, 3) },
      { uniqueItems: true },
      { required: names.slice(0, random.between(0, 2)) },
      { minItems: random.between(0, 2), maxItems: 1_000_000 },
      { maxLength: random.between(0, 99_999) },
      { multipleOf: random.of([0.001, 3, 1e-9]) },
      { pattern: random.of(['^(a|b)*$', '[ab]*a[ab]{12}$', '(a+)+$', '.*.*.*c']) },
      { maxProperties: random.between(0, 99_999) },
      { dependentRequired: { a: ['b'] } },
    ]);
  if (levels === 0) return leaf();
  const below = (): Json => randomSchema(random, levels - 1);
  const reference = (): Json => ({ $ref: random.of(['#', '#/$defs/d0', '#/$defs/d1']) });
  // Of a member of the value alone: a schema that asks itself about the same value is refused.
  const inner = (): Json => (random.between(0, 2) === 0 ? reference() : below());
  return random.of<() => Json>([
    leaf,
    () => ({ properties: Object.fromEntries(names.slice(0, 3).map((name) => [name, inner()])) }),
    () => ({ additionalProperties: inner() }),
    () => ({ patternProperties: { '^[ab]': inner(), c$: inner() } }),
    () => ({ propertyNames: below() }),
    () => ({ items: inner() }),
    () => ({ prefixItems: [below(), inner()] }),
    () => ({ contains: inner(), minContains: random.between(0, 1) }),
    () => ({ [random.of(['allOf', 'anyOf', 'oneOf'])]: times(random.between(1, 4), below) }),
    () => ({ not: below() }),
    () => ({ if: below(), then: below(), else: below() }),
    () => ({ dependentSchemas: { a: below() } }),
    () => ({ unevaluatedProperties: below() }),
    () => ({ unevaluatedItems: below() }),
  ])();
}

/** A value of at most about so many values. */
function randomInput(random: Random, most: number): unknown {
  if (most <= 1 || random.between(0, 5) === 0) return random.of(scalars);
  const share = Math.ceil(most / (random.between(0, 9) + 2));
  const members = times(random.between(0, Math.floor(most / share) - 1) + 1, () =>
    randomInput(random, share - 1),
  );
  if (random.between(0, 1) === 0) return members;
  return Object.fromEntries(members.map((member, n) => [n < 3 ? random.of(names) : `p${n}`, member]));
}

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
