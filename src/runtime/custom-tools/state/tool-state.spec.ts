import {
  afterCrash,
  afterRowWrite,
  afterStart,
  afterSuccessfulCall,
  columnsOfBroken,
  eventOf,
  type ToolCondition,
  type ToolState,
  withResult,
  worstHealth,
} from './tool-state.js';

type Transition = (state: ToolState) => ToolState;

/** The state after these transitions, and the events on the way. */
function after(...transitions: Transition[]) {
  const events: NonNullable<ReturnType<typeof eventOf>>[] = [];
  const state = transitions.reduce<ToolState>((before, transition) => {
    const next = transition(before);
    const event = eventOf(before, next);
    if (event) events.push(event);
    return next;
  }, {});
  return { state, events };
}

const crash: Transition = (state) => afterCrash(state, { exitCode: 3, signal: null });
const checked =
  (columns: Partial<ToolCondition>): Transition =>
  (state) =>
    withResult(state, columns);
const failed = (why: string): Transition => checked(columnsOfBroken(why));
const answers: Transition = (state) => afterSuccessfulCall(state, well);
const writes =
  (row: ToolCondition): Transition =>
  (state) =>
    afterRowWrite(state, row);
const well = { healthStatus: 'healthy', errorMessage: null } as const;
const ill = { healthStatus: 'unhealthy', errorMessage: 'no disk' } as const;
const row = { status: 'active', ...well } as const;

describe('the state of a tool', () => {
  it.each<[string, Transition[], Partial<ToolState>]>([
    ['is healthy once it has answered', [checked(well)], well],
    ['is what a check found', [checked(ill)], ill],
    ['stays as it was if there is nothing to ask', [checked(ill), checked({})], ill],
    ['is unhealthy after a crash', [checked(well), crash], { healthStatus: 'unhealthy' }],
    ['is mended by the next good answer', [crash, answers], well],
    ['is not mended by a good answer if it says itself that it is ill', [checked(ill), answers], ill],
    ['is error if it cannot be started', [failed('no file')], { status: 'error', errorMessage: 'no file' }],
    [
      'tells the newest reason',
      [failed('no file'), checked({ errorMessage: 'no right' })],
      { errorMessage: 'no right' },
    ],
    ['is active again once a process has started', [failed('no file'), afterStart], { ...row }],
    ['is not changed by a start alone', [checked(ill), afterStart], ill],
    ['does not crash while it cannot be started', [failed('no file'), crash], { errorMessage: 'no file' }],
    [
      'keeps what PostgreSQL can store',
      [failed(`\0${'x'.repeat(9_999)}`)],
      { errorMessage: `\uFFFD${'x'.repeat(4_095)}` },
    ],
  ])('%s', (_what, transitions, expected) => {
    expect(after(...transitions).state).toMatchObject(expected);
  });

  it('is that of its row once that was written', () => {
    expect(after(crash, writes(row)).state).toEqual({});
    expect(after(crash, writes({ ...row, ...ill })).state).toEqual({
      trouble: expect.objectContaining({ kind: 'crashed' }),
    });
  });
});

describe('events of a tool', () => {
  it.each<[string, Transition[], string[]]>([
    ['that is well: none', [checked(well), afterStart, writes(row)], []],
    [
      'that crashes with every call: one, until it has recovered',
      [crash, crash, checked(ill), crash],
      ['crashed'],
    ],
    ['that crashes again', [crash, checked(well), crash], ['crashed', 'recovered', 'crashed']],
    ['that answers again', [crash, answers], ['crashed', 'recovered']],
    [
      'from bad to worse, and back',
      [checked(ill), checked(ill), crash, failed('3 starts'), crash, failed('3 starts'), afterStart],
      ['degraded', 'crashed', 'failed', 'recovered'],
    ],
    [
      'whose row says the same',
      [failed('no file'), writes({ status: 'error', ...ill }), writes(row)],
      ['failed', 'recovered'],
    ],
    [
      'of which nothing is known but that it is listed',
      [crash, writes({ ...row, healthStatus: 'unknown' })],
      ['crashed'],
    ],
  ])('%s', (_what, transitions, types) => {
    expect(after(...transitions).events.map(({ type }) => type)).toEqual(types.map((type) => `tool.${type}`));
  });

  it('hold no more of a reason than its row', () => {
    const { state, events } = after(checked({ ...ill, errorMessage: 'x'.repeat(9_999) }));
    expect(events[0]?.message).toBe(state.errorMessage);
    expect(state.errorMessage).toHaveLength(4_096);
  });

  it('say what happened', () => {
    const none = { healthStatus: 'degraded', errorMessage: null } as const;
    const { events } = after(
      checked(none),
      (state) => afterCrash(state, { exitCode: null, signal: 'SIGSEGV' }),
      failed('no file'),
      afterStart,
    );
    expect(events).toEqual([
      {
        type: 'tool.degraded',
        message: 'It reports that it is degraded',
        data: { healthStatus: 'degraded' },
      },
      {
        type: 'tool.crashed',
        message: 'A process of it ended by SIGSEGV',
        data: { exitCode: null, signal: 'SIGSEGV' },
      },
      { type: 'tool.failed', message: 'no file', data: { status: 'error' } },
      { type: 'tool.recovered', message: 'It starts and answers again', data: { from: 'failed' } },
    ]);
  });
});

// prevents a broken pool from being hidden by the answer of a better one before it
it.each([
  [['healthy', 'degraded', 'unhealthy', 'degraded'], 'unhealthy'],
  [['healthy', 'degraded'], 'degraded'],
  [['healthy', 'healthy'], 'healthy'],
  [[], undefined],
] as const)('of the answers %j, the worst one counts', (statuses, worst) => {
  const answers = statuses.map((healthStatus) => ({ healthStatus, errorMessage: healthStatus }));
  expect(worstHealth(answers)).toEqual(worst && { healthStatus: worst, errorMessage: worst });
});
