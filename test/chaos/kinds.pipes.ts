import { ampleMs, type Fault, type Kind } from './fault.js';
import { timedOut } from './kinds.endings.js';

const mib = 1_048_576;

const tooLarge = (bytes?: number): Fault => ({
  script: [{ do: 'flood', text: 'x', ...(bytes !== undefined && { bytes }) }],
  deadlineMs: ampleMs,
  endings: ['output_too_large'],
  // The answer of a neighbour that stands within the line cannot be read.
  beside: ['output_too_large', 'protocol_error'],
  ends: true,
});

const spoiled = ['protocol_error', 'timeout'] as const;

export const pipeKinds: readonly Kind[] = [
  { name: 'line_of_64_mib', count: 100, make: () => tooLarge(64 * mib) },
  {
    name: 'endless_stdout',
    count: 100,
    make: (random) =>
      random.chance(0.5)
        ? tooLarge()
        : // Short lines are noise: the deadline ends them, or that there are too many.
          {
            ...timedOut([{ do: 'flood', text: 'chatter\n' }], 400),
            endings: spoiled,
            beside: [...spoiled, 'output_too_large'],
          },
  },
  {
    name: 'stderr_of_1_gib',
    count: 20,
    make: () => ({
      script: [{ do: 'stderr', bytes: 1024 * mib }, { do: 'reply' }],
      deadlineMs: 120_000,
      dueMs: 60_000,
      endings: ['success'],
      ends: false,
    }),
  },
  {
    name: 'stdin_unread',
    count: 100,
    fits: (lane) => !lane.shared,
    make: () => ({
      script: [{ do: 'reply' }, { do: 'stopReading' }],
      deadlineMs: ampleMs,
      endings: ['success'],
      // What is sent to it now lies in the pipe, or does not even fit into it.
      after: { calls: 2, paddingBytes: 700_000, endings: ['success', ...spoiled] },
      ends: true,
    }),
  },
  {
    name: 'stdin_closed',
    count: 100,
    fits: (lane) => !lane.shared,
    make: (random) =>
      random.chance(0.5)
        ? { ...timedOut([{ do: 'close', fd: 0 }, { do: 'hang' }]), endings: spoiled }
        : {
            script: [{ do: 'close', fd: 0 }, { do: 'reply' }],
            deadlineMs: ampleMs,
            endings: ['success'],
            after: { calls: 2, paddingBytes: 0, endings: ['success', ...spoiled] },
            ends: true,
          },
  },
  {
    name: 'stdout_closed',
    count: 100,
    make: (random) => {
      const answers = random.chance(0.3);
      return {
        script: [...(answers ? [{ do: 'reply' } as const] : []), { do: 'close', fd: 1 }, { do: 'hang' }],
        deadlineMs: ampleMs,
        endings: [answers ? 'success' : 'protocol_error'],
        beside: ['protocol_error'],
        ends: true,
      };
    },
  },
];
