/**
 * What the circuit costs a call: the decision (`admit`) and the taking of its result (`record`), among the circuits of
 * many tools in the order of a shuffled deck, in each state. Rounds are interleaved; the empty loop is subtracted from
 * none of them.
 */
import { CircuitBreakers } from '../../dist/src/call/circuits/circuit-breakers.js';
import { CircuitEvents } from '../../dist/src/call/circuits/circuit-transitions.repository.js';
import { KnownTools } from '../../dist/src/call/circuits/known-tools.js';
import { CallEvents } from '../../dist/src/web/contract/call-events.js';
import { median, percentile, print, rounds } from './measure.mjs';

const tools = 200;
const decisions = 1_000_000;
const goalNs = 1_000;
const circuit = {
  failures: 5,
  minFailureRate: 0.5,
  windowMs: 300_000,
  openMs: 3_600_000,
  maxOpenMs: 3_600_000,
  probes: 3,
};

export function benchBreaker() {
  const closed = lab();
  const open = lab();
  open.openAll();
  const halfOpen = lab();
  halfOpen.openAll();
  halfOpen.wait(circuit.openMs);
  // Every place is taken: each further call is refused.
  for (const name of halfOpen.names) for (let n = 0; n < 3; n++) halfOpen.circuits.admit(name, `probe-${n}`);
  const works = {
    'decision, closed': (name) => closed.circuits.admit(name, 'call'),
    'decision, open': (name) => open.circuits.admit(name, 'call'),
    'decision, half-open': (name) => halfOpen.circuits.admit(name, 'call'),
    'result, closed (time moves)': (name) => closed.result(name),
  };
  const measured = Object.fromEntries(Object.keys(works).map((what) => [what, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [what, work] of Object.entries(works)) {
      const ns = nanoseconds(work, closed.deck);
      if (round >= 0) measured[what].push(ns);
    }
  }
  print(`breaker: ${tools} tools, ${rounds} rounds of ${decisions.toLocaleString('en')} each`);
  for (const [what, all] of Object.entries(measured)) {
    const sorted = [...all].sort((a, b) => a - b);
    print(
      `  ${what.padEnd(28)} ${median(sorted).toFixed(0)} ns (${sorted[0].toFixed(0)} to ${percentile(sorted, 1).toFixed(0)})`,
    );
  }
  const worst = Math.max(...Object.values(measured).map(median));
  print(`  goal: under ${goalNs} ns: ${worst < goalNs ? 'met' : 'MISSED'}`);
}

/** The real circuits without a database behind them. */
function lab() {
  const clock = { time: Date.now(), now: () => clock.time };
  const calls = new CallEvents();
  const known = new KnownTools();
  const circuits = new CircuitBreakers({ circuit }, clock, calls, new CircuitEvents(), known, {
    read: async () => new Map(),
  });
  circuits.logger = { log: () => undefined, warn: () => undefined, error: () => undefined };
  circuits.onModuleInit();
  const names = Array.from({ length: tools }, (_, n) => `tool_${n}`);
  known.set(names.map((name) => ({ name })));
  const event = {
    kind: 'executed',
    executionId: 'call',
    status: 'success',
    fault: false,
    executionTimeMs: 1,
    at: 0,
    test: false,
    probe: false,
  };
  const events = new Map(names.map((tool) => [tool, { ...event, tool }]));
  let count = 0;
  return {
    circuits,
    names,
    deck: shuffled(names),
    wait: (ms) => (clock.time += ms),
    openAll: () => {
      for (const tool of names)
        for (let n = 0; n < 5; n++)
          calls.emit({ ...event, tool, status: 'error', errorType: 'tool_crashed', fault: true });
    },
    /** As the recorder says it; every thousandth a millisecond later. */
    result: (name) => {
      if (++count % 1_000 === 0) clock.time += 1;
      calls.emit(events.get(name));
    },
  };
}

function nanoseconds(work, deck) {
  const begun = process.hrtime.bigint();
  for (let n = 0; n < decisions; n++) work(deck[n % deck.length]);
  return Number(process.hrtime.bigint() - begun) / decisions;
}

function shuffled(names) {
  const deck = Array.from({ length: 20 }, () => names).flat();
  for (let n = deck.length - 1; n > 0; n--) {
    const other = Math.floor(Math.random() * (n + 1));
    [deck[n], deck[other]] = [deck[other], deck[n]];
  }
  return deck;
}
