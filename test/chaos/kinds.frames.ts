import { ampleMs, type Fault, type Kind, shortMs } from './fault.js';
import { timedOut } from './kinds.endings.js';
import type { Lane } from './lanes.js';
import type { Random } from './random.js';
import type { Step } from './steps.js';

const fine = (...script: readonly Step[]): Fault => ({
  script,
  deadlineMs: ampleMs,
  endings: ['success'],
  ends: false,
});

const broken = (...script: readonly Step[]): Fault => ({
  ...fine(...script),
  endings: ['protocol_error'],
  beside: ['protocol_error'],
  ends: true,
});

const crossed = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":{"nonce":"crossed"}}\n`;

/** Ids that nobody waits for; where a process is shared the ids near by are somebody's. */
const strangers = (random: Random, lane: Lane): string =>
  random.of([
    '"nobody"',
    '-1',
    '1e9',
    '"999$ID"',
    'null',
    '{"id":1}',
    '["$ID"]',
    'true',
    ...(lane.shared ? [] : ['"$NEXT"', '"$LAST"', '$NEXT', '"0"']),
  ]);

/** Lines that are no message; the answer comes after them. */
function garbage(random: Random): Step {
  const lines = Array.from({ length: random.between(1, 6) }, () =>
    random.of<() => Buffer>([
      () => Buffer.from(random.bytes(random.between(1, 400)).filter((byte) => byte !== 10)),
      () =>
        Buffer.from(
          random.of([
            '{',
            '{"jsonrpc":"2.0","id":"1","result":',
            '[1,2,3',
            'null',
            '"text"',
            '}}}]]',
            '{"level":"info","msg":"started"}',
            '{"jsonrpc":"2.0","id":77,"method":"sampling"}',
            'Traceback (most recent call last):',
            '{"a":"\\ud800"}',
            ' ',
            '\u0000\u0000',
            '\u2028',
          ]),
        ),
    ])(),
  );
  return {
    do: 'write',
    base64: Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])).toString('base64'),
  };
}

const cuts = (random: Random): number[] => Array.from({ length: random.between(1, 6) }, () => random.next());

const count = 175;

export const frameKinds: readonly Kind[] = [
  {
    name: 'late_reply',
    count,
    make: (random) => ({
      ...timedOut([{ do: 'sleep', ms: shortMs + random.between(0, 60) }, { do: 'reply' }]),
      races: true,
    }),
  },
  {
    name: 'doubled_reply',
    count,
    make: (random) =>
      fine({
        do: 'write',
        text: '$REPLY\n$REPLY\n',
        cuts: random.chance(0.5) ? [0.5] : [],
        pauseMs: random.between(0, 10),
      }),
  },
  {
    name: 'unknown_id',
    count,
    make: (random, lane) => fine({ do: 'write', text: crossed(strangers(random, lane)) + '$REPLY\n' }),
  },
  {
    name: 'wrong_id',
    count,
    make: (random, lane) =>
      timedOut([{ do: 'write', text: crossed(strangers(random, lane)) }, { do: 'hang' }]),
  },
  {
    name: 'swapped_ids',
    count,
    make: (random, lane) => ({
      ...fine({ do: 'crosswise', key: String(random.next()), waitMs: lane.shared ? 3_000 : 20 }),
      twice: true,
    }),
  },
  { name: 'split_utf8', count, make: () => fine({ do: 'splitCharacter' }) },
  {
    name: 'torn_frame',
    count,
    make: (random) =>
      fine({ do: 'write', text: '$REPLY\n', cuts: cuts(random), pauseMs: random.between(0, 4) }),
  },
  {
    name: 'bom',
    count,
    make: (random) => fine({ do: 'write', text: `\uFEFF${random.of(['', ' '])}$REPLY\n` }),
  },
  {
    name: 'crlf',
    count,
    make: (random) => fine({ do: 'write', text: `${random.of(['', '\r\n', '\r\n\r\n'])}$REPLY\r\n` }),
  },
  {
    name: 'two_in_a_chunk',
    count,
    make: (random) =>
      fine({
        do: 'write',
        text: `{"jsonrpc":"2.0","method":"chaos/noted","params":{}}\n$REPLY\n${random.of(['', crossed('"nobody"')])}`,
      }),
  },
  { name: 'garbage', count, make: (random) => fine(garbage(random), { do: 'reply' }) },
  {
    name: 'multi_line',
    count,
    make: (random) =>
      fine({ do: 'write', text: '$PRETTY\n', cuts: random.chance(0.5) ? cuts(random) : [], pauseMs: 1 }),
  },
  {
    name: 'malformed_reply',
    count,
    make: (random) =>
      broken({
        do: 'write',
        text: random.of([
          '{"jsonrpc":"2.0","id":"$ID"}\n',
          '{"id":"$ID","result":{"nonce":"crossed"}}\n',
          '{"jsonrpc":"2.0","id":"$ID","error":"no object"}\n',
          '{"jsonrpc":"2.0","id":"$ID","error":{"code":1.5,"message":"x"}}\n',
          '{"jsonrpc":"2.0","id":"$ID","error":{"code":-1}}\n',
        ]),
      }),
  },
];
