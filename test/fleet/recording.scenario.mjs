import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../chaos/random.ts';
import { until } from '../support/wait.ts';
import { within } from './check.mjs';
import { Load } from './load.mjs';

const rounds = Number(process.env.FLEET_KILLS ?? 6);

/** Replicas are killed under load, one after the other at random moments; what callers were told must be in the rows, once. */
export async function recording({ fleet, checks }) {
  const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 32));
  const random = new Random(seed);
  await fleet.register('killed');
  await fleet.warm('killed');
  const load = new Load(fleet, 'killed', 150);
  for (let round = 0; round < rounds; round++) {
    const before = load.ledger.acknowledged;
    await until(() => load.ledger.acknowledged > before + 50, { what: 'calls to be answered' });
    await delay(random.between(20, 500));
    const replica = fleet.replicas[round % 3];
    await replica.end('SIGKILL');
    replica.start();
    await fleet.allUp();
  }
  const { calls, acknowledged, interrupted, lost, doubled, wrong, phantom } = await load.verdict();
  checks.note(
    `CHAOS_SEED=${seed}: ${rounds} kills, ${calls} calls, ${acknowledged} acknowledged, ${interrupted} interrupted`,
  );
  // What a killed replica had, and what the balancer sent to it before it noticed.
  const most = rounds * 150 * Math.ceil(within(1_500) / 1_000);
  const failed = calls - acknowledged;
  checks.check(failed <= most, `${failed} failed (at most ${most})`);
  checks.check(lost === 0 && acknowledged > 0, `${lost} lost of ${acknowledged} acknowledged (0)`);
  checks.check(
    doubled + wrong + phantom === 0,
    `${doubled} doubled, ${wrong} wrong, ${phantom} refused with a row (0, 0, 0)`,
  );
}
