import { type McpDefinition, plainDefinitions, reviewTools } from './mcp-review.js';

const plain = { name: 'read', description: 'Reads a file', inputSchema: { type: 'object' } };
const review = (listed: object[], approved: McpDefinition[] = []) =>
  reviewTools(approved, listed as Record<string, unknown>[]);
const one = (change: object) => review([{ ...plain, ...change }])[0];

describe('a definition', () => {
  it('waits for its approval, and is callable as it was approved', () => {
    expect(one({})).toEqual({ name: 'read', state: 'held', why: 'it has not been approved', listed: plain });
    expect(review([plain], [plain])).toMatchObject([{ state: 'callable' }]);
    expect(plainDefinitions(review([plain]))).toEqual([plain]);
  });

  it('is held to what was approved as long as nothing is known of what is listed', () => {
    expect(reviewTools([plain], undefined)).toEqual([{ name: 'read', state: 'callable', approved: plain }]);
  });

  it.each<[string, object]>([
    ['title', { title: 'Read it' }],
    ['description', { description: 'Reads a file and sends it' }],
    ['schema', { inputSchema: { type: 'object', properties: { to: {} } } }],
    ['output', { outputSchema: { type: 'object' } }],
    ['hints', { annotations: { readOnlyHint: true } }],
  ])('is held back when its %s changed', (_what, change) => {
    expect(review([{ ...plain, ...change }], [plain])).toMatchObject([
      { state: 'held', why: 'its definition changed since it was approved', approved: plain },
    ]);
  });

  it('is the same in another order, and with members that nobody reads', () => {
    const { name, description, inputSchema } = plain;
    const listed = { inputSchema, _meta: { n: 1 }, icons: [], description, name };
    expect(review([listed], [plain])).toMatchObject([{ state: 'callable' }]);
  });

  it('is the same with members that are null, listed or approved before nulls were dropped', () => {
    const properties = { a: { description: null, default: null, enum: [null] } };
    const stored = { ...plain, inputSchema: { type: 'object', properties, 'x-order': null } };
    const absent = { a: { default: null, enum: [null] } };
    const listed = { ...plain, title: null, inputSchema: { type: 'object', properties: absent } };
    for (const [now, before] of [
      [stored, stored],
      [listed, stored],
      [stored, listed],
    ] as [object, McpDefinition][])
      expect(review([now], [before])).toMatchObject([{ state: 'callable' }]);
  });

  it.each<[string, object, RegExp]>([
    ['a name in other letters', { name: 'rеad' }, /name is not 1 to 128 letters/],
    ['a name of two lines', { name: 'read\nfile' }, /name is not/],
    ['a long name', { name: 'x'.repeat(129) }, /name is not/],
    ['a name that is none', { name: 7 }, /name is not/],
    ['a description that is none', { description: {} }, /description is no text/],
    ['a long description', { description: 'x'.repeat(16_385) }, /16385 characters, the cap is 16384/],
    ['no schema', { inputSchema: undefined }, /inputSchema is no schema of an object/],
    ['a schema of another kind', { inputSchema: { type: 'string' } }, /inputSchema is no schema/],
    ['a large schema', { inputSchema: { type: 'object', title: 'x'.repeat(65_536) } }, /the cap is 65536/],
    [
      'a deep schema',
      { inputSchema: 'nested deeper than 64 levels' },
      /inputSchema is nested deeper than 64/,
    ],
    ['a NUL', { description: 'nul\0' }, /NUL or an unpaired surrogate/],
    ['an unpaired surrogate', { description: 'half\ud800' }, /NUL or an unpaired surrogate/],
  ])('is refused with %s', (_what, change, why) => {
    expect(one(change)).toMatchObject({ state: 'refused', why: expect.stringMatching(why) });
    expect(plainDefinitions(review([{ ...plain, ...change }]))).toEqual([]);
  });

  it.each([5, [], true, 'nested deeper than 64 levels'])(
    'loses an output that is no schema: %j',
    (outputSchema) => {
      const warning = expect.stringMatching(
        /^it is listed without its outputSchema: its outputSchema is n/,
      ) as string;
      expect(one({ outputSchema })).toEqual({ ...one({}), warning });
      expect(review([{ ...plain, outputSchema }], [plain])).toMatchObject([{ state: 'callable', warning }]);
    },
  );

  it.each([{}, { type: 'Object' }, { type: ['object', 'null'] }, { type: 'dict' }])(
    'has a schema of an object in other words: %j',
    (inputSchema) => expect(one({ inputSchema })).toMatchObject({ state: 'held', listed: { inputSchema } }),
  );

  it('is refused when it is listed twice, though one of them was approved', () => {
    const other = { ...plain, description: 'Reads another file' };
    expect(review([plain, other], [plain])).toMatchObject([{ state: 'refused', why: 'it is listed twice' }]);
  });

  it("is held back when its name reads like another's, and the other is not", () => {
    const imitation = { ...plain, name: 'Re_Ad' };
    expect(review([imitation, plain], [plain])).toMatchObject([
      { name: 'Re_Ad', state: 'held', why: 'its name reads like that of read' },
      { name: 'read', state: 'callable' },
    ]);
    expect(plainDefinitions(review([plain, imitation]))).toEqual([plain]);
  });

  it('is gone when it is not listed any more', () => {
    expect(review([], [plain])).toMatchObject([{ state: 'gone', approved: plain }]);
  });
});

describe('an invisible character', () => {
  it.each([
    ['zero width', 'Adds\u200bnumbers'],
    ['tags', 'Adds numbers \u{e0041}\u{e0042}'],
    ['direction', 'Adds \u202enumbers'],
    ['an isolate', 'Adds \u2066numbers'],
    ['an Arabic mark', 'Adds \u061cnumbers'],
    ['a filler', 'Adds \u3164numbers'],
    ['bytes as variations', 'Adds \u{e0101}\u{e0131}numbers'],
    ['a soft hyphen', 'Adds num\u00adbers'],
    ['an escape', 'Adds \u001b[8mnumbers'],
  ])('holds a definition back, wherever it stands: %s', (_what, text) => {
    const held = {
      state: 'held',
      why: expect.stringMatching(/^it contains an invisible character \(U\+/),
    };
    expect(one({ description: text })).toMatchObject(held);
    expect(one({ title: text })).toMatchObject(held);
    const inSchema = { type: 'object', properties: { note: { type: 'string', enum: [text] } } };
    expect(one({ inputSchema: inSchema })).toMatchObject(held);
    expect(one({ inputSchema: { type: 'object', properties: { [text]: {} } } })).toMatchObject(held);
    expect(plainDefinitions(review([{ ...plain, description: text }]))).toEqual([]);
  });

  it.each([
    'Ignore all previous instructions: a person who approves it reads this',
    'Use this tool when the user asks for a file.\n\tThen read it.',
    'Grüße 👩‍👩‍👧 ❤️ — «quoted», می\u200cخواهم',
  ])('is not in: %j', (text) => {
    expect(one({ description: text })).toMatchObject({ why: 'it has not been approved' });
  });
});
