import { ampleMs, type Fault, type Kind, shortMs } from './fault.js';
import type { Random } from './random.js';
import type { Step } from './steps.js';

const crashed = (script: readonly Step[]): Fault => ({
  script,
  deadlineMs: ampleMs,
  endings: ['tool_crashed'],
  beside: ['tool_crashed'],
  ends: true,
});

const answeredFirst = (end: Step): Fault => ({
  ...crashed([{ do: 'reply' }, end]),
  endings: ['success'],
});

export const timedOut = (script: readonly Step[], deadlineMs = shortMs): Fault => ({
  script,
  deadlineMs,
  dueMs: deadlineMs,
  endings: ['timeout'],
  beside: ['timeout'],
  ends: true,
});

/** One way to end, before, during and after the answer. */
function endings(name: string, end: (random: Random) => Step): Kind[] {
  return [
    { name: `${name}_before_reply`, count: 175, make: (random) => crashed([end(random)]) },
    {
      name: `${name}_during_reply`,
      count: 175,
      make: (random) => crashed([{ do: 'reply', part: 0.05 + random.next() * 0.85 }, end(random)]),
    },
    { name: `${name}_after_reply`, count: 175, make: (random) => answeredFirst(end(random)) },
  ];
}

const waysToEnd: readonly (readonly Step[])[] = [
  [{ do: 'exit', code: 4 }],
  [{ do: 'kill', signal: 'SIGKILL' }],
  [{ do: 'reply' }, { do: 'exit', code: 0 }],
  [{ do: 'hang' }],
];

/** Leaves processes behind that nobody knows; they must go with the process that started them. */
function abandons(random: Random, setsid: boolean): Fault {
  const way = random.of(waysToEnd);
  const child: Step = { do: 'grandchild', setsid, ignoreTerm: true, holdPipes: random.chance(0.5) };
  const script = [child, ...way];
  const [last] = way;
  if (last?.do === 'hang') return timedOut(script, 600);
  return last?.do === 'reply' ? { ...crashed(script), endings: ['success'] } : crashed(script);
}

export const endingKinds: readonly Kind[] = [
  ...endings('exit', (random) => ({ do: 'exit', code: random.of([0, 1, 3, 127]) })),
  ...endings('segv', () => ({ do: 'kill', signal: 'SIGSEGV' })),
  ...endings('kill', () => ({ do: 'kill', signal: 'SIGKILL' })),
  {
    name: 'hang',
    count: 175,
    make: (random, lane) =>
      timedOut(
        random.of<Step[]>([
          [{ do: 'hang' }],
          // Python sets signal handlers in its main thread only.
          [...(lane.shared ? [] : [{ do: 'ignoreTerm' } as const]), { do: 'hang' }],
          // A torn line would swallow the next answer of a process that others use.
          [...(lane.shared ? [] : [{ do: 'reply', part: 0.5 } as const]), { do: 'hang' }],
        ]),
      ),
  },
  { name: 'cpu_spin', count: 100, make: () => timedOut([{ do: 'spin' }]) },
  {
    name: 'memory_leak',
    count: 40,
    make: (random) => ({
      ...timedOut([{ do: 'leak', mib: random.between(50, 200) }, { do: 'hang' }], 1_000),
      endings: ['timeout', 'tool_crashed', 'sandbox_violation'],
      beside: ['timeout', 'tool_crashed', 'sandbox_violation'],
    }),
  },
  { name: 'grandchild', count: 100, make: (random) => abandons(random, false) },
  {
    name: 'setsid_grandchild',
    count: 100,
    needsSpawner: true,
    make: (random) => abandons(random, true),
  },
];
