import fc from 'fast-check';
import type { CustomTool } from './custom-tool.entity.js';
import type { ProgramFile } from './tool-revision.entity.js';
import {
  changesBetween,
  configurationOf,
  contentHashOf,
  differingFiles,
  filesKey,
  restoreRevision,
  type RevisionContent,
} from './revision-content.js';
import { initialSettings } from './tool-settings.js';
import type { SealedValue, StoredEnv } from '../../secrets/env-cipher.js';

const file = (path: string, hash: string | null, changes: Partial<ProgramFile> = {}): ProgramFile => ({
  path,
  size: 10,
  modifiedAt: '2026-01-23T10:30:00.000Z',
  hash,
  ...changes,
});

const sealed = (id: string): SealedValue => ({ alg: 'A256GCM', id, key: 'k', nonce: 'n', data: 'd' });

const content = (configuration: object, env: StoredEnv = {}, files: ProgramFile[] = []): RevisionContent => ({
  configuration,
  env,
  files,
});

describe('configurationOf', () => {
  it('leaves out who the tool is, how it is, and the values of its environment', () => {
    const tool = {
      id: 'x',
      name: 'n',
      command: 'c',
      env: { A: '1' },
      revision: 3,
      status: 'active',
      healthStatus: 'healthy',
      lastHealthCheck: null,
      errorMessage: null,
      createdAt: new Date(),
      updatedAt: new Date(),
    } as unknown as CustomTool;
    expect(configurationOf(tool)).toEqual({ name: 'n', command: 'c' });
  });
});

/** A tool whose settings are all left out. */
const unset = () => ({ ...initialSettings }) as unknown as CustomTool;

describe('a revision', () => {
  it('holds no setting that came later than the first ones, unless it differs from its default', () => {
    const first = Object.keys(configurationOf(unset()));
    expect(first).toContain('maxRetries');
    expect(first).not.toContain('capture');
    expect(configurationOf(Object.assign(unset(), { capture: 'all' }))).toHaveProperty('capture', 'all');
  });

  it('brings back the default of a setting that it does not hold', () => {
    const [tool, changed] = [unset(), Object.assign(unset(), { capture: 'all', cacheTtlMs: 5 })];
    restoreRevision(changed, { configuration: configurationOf(tool), env: {} });
    expect(changed).toMatchObject({ capture: 'none', cacheTtlMs: null });
  });
});

describe('contentHashOf', () => {
  const base = content({ a: 1, b: { c: 2, d: 3 } }, { X: sealed('x') }, [file('f', 'h')]);

  it('is the same whatever the order of members and whenever a file was written', () => {
    const other = content({ b: { d: 3, c: 2 }, a: 1 }, { X: sealed('x') }, [
      file('f', 'h', { modifiedAt: 'later' }),
    ]);
    expect(contentHashOf(other)).toBe(contentHashOf(base));
  });

  it('is the same when a secret comes under another key', () => {
    const renewed: SealedValue = { ...sealed('x'), key: 'other', nonce: 'other', data: 'other' };
    expect(contentHashOf({ ...base, env: { X: renewed } })).toBe(contentHashOf(base));
  });

  it.each([
    ['a field', content({ a: 2, b: { c: 2, d: 3 } }, { X: sealed('x') }, [file('f', 'h')])],
    ['a secret', content({ a: 1, b: { c: 2, d: 3 } }, { X: sealed('y') }, [file('f', 'h')])],
    ["a file's content", content({ a: 1, b: { c: 2, d: 3 } }, { X: sealed('x') }, [file('f', 'i')])],
    ['a file', content({ a: 1, b: { c: 2, d: 3 } }, { X: sealed('x') }, [file('f', 'h'), file('g', 'h')])],
  ])('differs where %s differs', (_what, other) => {
    expect(contentHashOf(other)).not.toBe(contentHashOf(base));
  });

  it('takes size and time for the content of a file that is too large to be read', () => {
    const large = (changes: object) => content({}, {}, [file('f', null, changes)]);
    expect(contentHashOf(large({ size: 1 }))).not.toBe(contentHashOf(large({ size: 2 })));
    expect(contentHashOf(large({ modifiedAt: 'a' }))).not.toBe(contentHashOf(large({ modifiedAt: 'b' })));
  });
});

describe('files', () => {
  it('differ by content, absence and presence', () => {
    const before = [file('changed', '1'), file('gone', '1'), file('same', '1')];
    const after = [file('added', '1'), file('changed', '2'), file('same', '1', { modifiedAt: 'later' })];
    expect(differingFiles(before, after)).toEqual(['added', 'changed', 'gone']);
    expect(filesKey(before)).not.toBe(filesKey(after));
    expect(filesKey([file('same', '1')])).toBe(filesKey([file('same', '1', { modifiedAt: 'later' })]));
  });
});

describe('changesBetween', () => {
  it('tells nothing for equal contents', () => {
    fc.assert(
      fc.property(fc.object(), (fields) => {
        expect(changesBetween(content(fields), content(structuredClone(fields)))).toEqual([]);
      }),
    );
  });

  it('leads from one to the other: applying what it tells gives the second', () => {
    const fields = fc.dictionary(
      fc.constantFrom('a', 'b/c', '~d'),
      fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('__proto__')),
    );
    fc.assert(
      fc.property(fields, fields, (before, after) => {
        let now: unknown = structuredClone({ configuration: before });
        for (const change of changesBetween(content(before), content(after))) now = applied(now, change);
        expect(pruned(now, { configuration: after })).toEqual({ configuration: after });
      }),
    );
  });

  it('shows no secret', () => {
    const changes = changesBetween(
      content({}, { KEPT: sealed('kept'), OLD: sealed('s3cret') }),
      content({}, { KEPT: sealed('kept'), NEW: sealed('s3cret') }),
    );
    expect(changes).toEqual([
      { path: '/configuration/env/NEW', after: '***' },
      { path: '/configuration/env/OLD', before: '***' },
    ]);
  });

  it('knows members that are named like those of Object', () => {
    const changes = changesBetween(content({ schema: {} }), content({ schema: { toString: 1 } }));
    expect(changes).toEqual([{ path: '/configuration/schema/toString', after: 1 }]);
  });
});

/** A JSON patch of one step. */
function applied(root: unknown, { path, after }: { path: string; after?: unknown }): unknown {
  const names = path
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  const set = (value: unknown, [name = '', ...rest]: string[]): unknown => {
    const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
    const inner = rest.length > 0 ? set(members[name as never], rest) : after;
    return { ...members, [name]: inner };
  };
  return set(root, names);
}

/** Without the empty shells that are left of an object all of whose members went. */
function pruned(value: unknown, like: unknown): unknown {
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, pruned(member, isObject(like) ? like[name] : undefined)] as const)
    .filter(([, member]) => member !== undefined);
  return members.length === 0 && like === undefined ? undefined : Object.fromEntries(members);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
