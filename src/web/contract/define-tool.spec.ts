import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { Cancellation } from '../../base/common/cancellation.js';
import { UpstreamFailure } from '../../base/outbound/upstream-failure.js';
import { Deadline } from '../../base/common/deadline.js';
import { defineTool, type ToolSpec } from './define-tool.js';
import type { ToolRun } from './tool.js';
import { ToolFailure } from './tool-outcome.js';

Logger.overrideLogger(false);

interface Words {
  readonly text: string;
  readonly longest: number;
}

const input = {
  type: 'object',
  properties: {
    text: { type: 'string', pattern: '\\S', maxLength: 20 },
    longest: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
  },
  required: ['text'],
  additionalProperties: false,
};
const tool = (more: Partial<ToolSpec<Words>> = {}) =>
  defineTool<Words>({ name: 'words', description: 'd', input, run: async (asked) => asked, ...more });
const run = (changes: Partial<ToolRun> = {}): ToolRun => ({
  executionId: 'e',
  context: { userId: 'u', requestId: 'r', projectId: 'default' },
  principal: { userId: 'u', scopes: new Set() },
  deadline: Deadline.ofSmallest([1_000]),
  cancellation: new Cancellation(),
  probe: false,
  notes: { attempts: 1 },
  ...changes,
});
const soon = () => run({ deadline: Deadline.ofSmallest([20]) });
const never = new Promise<never>(() => undefined);

describe('a defined tool', () => {
  it('says the worst of itself unless it is told otherwise', () => {
    expect(tool().definition).toEqual({
      name: 'words',
      description: 'd',
      kind: 'builtin',
      version: '1.0.0',
      inputSchema: input,
      annotations: { readOnly: false, idempotent: false, destructive: true, openWorld: true },
      tags: [],
      timeoutMs: 30_000,
    });
    const said = { annotations: { readOnly: true, destructive: false }, timeoutMs: 5, tags: ['text'] };
    expect(tool(said).definition).toMatchObject({
      timeoutMs: 5,
      tags: ['text'],
      annotations: { readOnly: true, idempotent: false, destructive: false, openWorld: true },
    });
  });

  it('may show callers another schema than it checks', async () => {
    const published = { type: 'object' };
    const made = tool({ published });
    expect(made.definition.inputSchema).toBe(published);
    expect(await made.validate({}, 2)).toHaveLength(1);
  });

  it('tells every problem of its input in words, and of a huge one the first', async () => {
    const wrong = { text: ' \n', longest: 10, more: 1 };
    expect(await tool().validate(wrong, 50)).toEqual(
      expect.arrayContaining([
        { pointer: '/text', detail: 'must not be blank' },
        { pointer: '/longest', detail: 'must be at most 9' },
        { pointer: '/more', detail: 'is not a known field' },
      ]),
    );
    expect(await tool().validate({}, 2)).toEqual([{ pointer: '/text', detail: 'is required' }]);
    expect(await tool().validate({ text: 'x'.repeat(21) }, 50)).toEqual([
      { pointer: '/text', detail: 'must have at most 20 characters' },
    ]);
    expect(await tool().validate(wrong, 1_000_000)).toHaveLength(1);
  });

  it('never throws while it validates', () => {
    fc.assert(fc.property(fc.anything(), (any) => void tool().validate(any, 100)));
  });

  it('fills in what its schema has as default, also in what decides a cached result', async () => {
    expect(await tool().run({ text: 'a' }, run())).toEqual({ text: 'a', longest: 3 });
    expect(await tool().run({ text: 'a', longest: 4 }, run())).toEqual({ text: 'a', longest: 4 });
    expect(tool().cacheKey?.({ text: 'a' })).toEqual({ text: 'a', longest: 3 });
    expect(tool({ cacheKey: ({ longest }) => longest }).cacheKey?.({ text: 'a' })).toBe(3);
  });

  it('ends at its deadline, and aborts what runs', async () => {
    let seen: AbortSignal | undefined;
    const slow = tool({ run: (_asked, { signal }) => ((seen = signal), never) });
    await expect(slow.run({ text: 'a' }, soon())).rejects.toMatchObject({ type: 'timeout' });
    expect(seen?.aborted).toBe(true);
  });

  it('ends when the caller leaves, also when it left before', async () => {
    const caller = new Cancellation();
    const slow = tool({ run: () => never, upstream: 'The archive' });
    const pending = slow.run({ text: 'a' }, run({ cancellation: caller }));
    caller.cancel();
    await expect(pending).rejects.toMatchObject({ type: 'cancelled' });
    const late = slow.run({ text: 'a' }, run({ cancellation: caller }));
    await expect(late).rejects.toMatchObject({ type: 'cancelled' });
  });

  it('says what it throws, at once or later', async () => {
    const thrown = new ToolFailure('tool_error', 'no such file');
    const atOnce = tool({
      run: () => {
        throw thrown;
      },
    });
    await expect(atOnce.run({ text: 'a' }, run())).rejects.toBe(thrown);
    await expect(tool({ run: () => Promise.reject(thrown) }).run({ text: 'a' }, run())).rejects.toBe(thrown);
  });

  it('blames neither itself nor tells the reason when what it asks is away', async () => {
    const upstream = 'The archive';
    const away = {
      type: 'upstream_unavailable',
      message: 'The archive is not available',
      isToolFault: false,
    };
    const failing = tool({ upstream, run: () => Promise.reject(new Error('password for "secret" refused')) });
    await expect(failing.run({ text: 'a' }, run())).rejects.toMatchObject(away);
    const late = { ...away, message: `${away.message} (timeout)` };
    await expect(tool({ upstream, run: () => never }).run({ text: 'a' }, soon())).rejects.toMatchObject(late);
    const open = new UpstreamFailure('circuit_open', 'http://secret fails');
    const failed = tool({ upstream, run: () => Promise.reject(open) }).run({ text: 'a' }, run());
    await expect(failed).rejects.toMatchObject({ message: `${away.message} (circuit open)` });
    const own = new ToolFailure('tool_error', 'no such page');
    await expect(tool({ upstream, run: () => Promise.reject(own) }).run({ text: 'a' }, run())).rejects.toBe(
      own,
    );
  });

  it('has a fallback for every reason', () => {
    const made = tool({ upstream: 'The archive', fallback: (reason) => ({ reason }) });
    expect(made.definition.fallback).toEqual({ reason: 'The archive is not available' });
    expect(made.fallback?.('the budget is spent')).toEqual({ reason: 'the budget is spent' });
  });
});
