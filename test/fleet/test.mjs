/**
 * `npm run test:fleet [-- <scenario>…]`: what three replicas behind a balancer must do, with counts; exit status 1 if a line does not hold.
 * FLEET_PORT is the first of nineteen ports, FLEET_FROM the commit from which `upgrade` upgrades, FLEET_POOLER the mode of a PgBouncer
 * (`session` or `transaction`) before the database.
 */
import '../support/typescript.mjs';

if (process.getuid() === 0) process.umask(0);
const { Fleet } = await import('./fleet.mjs');
const { WebhookReceiver } = await import('./webhook-receiver.mjs');
const { Checks } = await import('./check.mjs');

/** In this order: those that measure come first, and those that kill come last. */
const scenarios = {
  rest: async () => (await import('./rest.scenario.mjs')).rest,
  latency: async () => (await import('./latency.scenario.mjs')).latency,
  hands: async () => (await import('./hands.scenario.mjs')).hands,
  budget: async () => (await import('./budget.scenario.mjs')).budget,
  circuit: async () => (await import('./circuit.scenario.mjs')).circuit,
  rollout: async () => (await import('./rollout.scenario.mjs')).rollout,
  database: async () => (await import('./database.scenario.mjs')).database,
  cut: async () => (await import('./cut.scenario.mjs')).cut,
  events: async () => (await import('./events.scenario.mjs')).events,
  async: async () => (await import('./async.scenario.mjs')).asynchronous,
  recording: async () => (await import('./recording.scenario.mjs')).recording,
  sandboxed: async () => (await import('./sandboxed.scenario.mjs')).sandboxed,
  upgrade: async () => (await import('./rollout.scenario.mjs')).upgrade,
};

/** Scenarios that run only if they are named. */
const extra = {
  pooler: async () => (await import('./pooler.scenario.mjs')).pooler,
  twelve: async () => (await import('./twelve.scenario.mjs')).twelve,
};
const all = { ...scenarios, ...extra };
/** These start a fleet of their own; all others share one. */
const own = ['sandboxed', 'upgrade', ...Object.keys(extra)];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in all));
if (unknown.length > 0)
  throw new Error(`no scenario ${unknown.join(', ')}; known are ${Object.keys(all).join(', ')}`);
const chosen =
  wanted.length === 0 ? Object.keys(scenarios) : Object.keys(all).filter((name) => wanted.includes(name));

let fleet;
const close = async () => {
  await fleet?.close();
  fleet = undefined;
  await receiver.close();
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, async () => {
    await close();
    process.exit(1);
  });

const began = performance.now();
const seconds = (since) => `${((performance.now() - since) / 1_000).toFixed(0)} s`;
const failed = [];
const receiver = await WebhookReceiver.open();
const started = async (options) => {
  await fleet?.close();
  fleet = new Fleet();
  await fleet.start({ ...options, variables: { ...receiver.variables, ...options?.variables } });
  return fleet;
};
for (const name of chosen) {
  const checks = new Checks(name);
  const since = performance.now();
  try {
    if (!own.includes(name)) await (fleet ? fleet.restore() : started());
    await (
      await all[name]()
    )({ fleet, checks, receiver, started });
  } catch (error) {
    checks.check(false, error.stack);
    // Leftovers of a scenario must not fail the next one.
    await fleet?.close();
    fleet = undefined;
  }
  checks.note(`${seconds(since)}`);
  if (checks.failed > 0) failed.push(name);
}
await close();
process.stdout.write(
  `fleet: ${chosen.length} scenarios in ${seconds(began)}; failed: ${failed.join(', ') || 'none'}\n`,
);
process.exit(failed.length > 0 ? 1 : 0);
