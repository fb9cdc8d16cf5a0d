import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { projectRoot } from '../../src/base/common/project.ts';
import { within } from './check.mjs';
import { checkLoad, Load } from './load.mjs';

/** The last commit whose replicas know nothing of each other. */
const from = process.env.FLEET_FROM ?? 'f345bdc5';

/** SIGTERM to one replica after the other while calls come in; the balancer hears of it by /readyz alone. */
export async function rollout({ fleet, checks }) {
  await fleet.register('rolled');
  await fleet.warm('rolled');
  const load = new Load(fleet, 'rolled');
  for (const replica of fleet.replicas) {
    const ms = await replica.end('SIGTERM');
    const most = within(12_000);
    checks.check(
      ms <= most,
      `${replica.name} ended ${(ms / 1_000).toFixed(1)} s after SIGTERM (at most ${(most / 1_000).toFixed(0)})`,
    );
    replica.start();
    await fleet.allUp();
  }
  await load.atLeast(3_000);
  checkLoad(checks, 'rolling SIGTERM at 75 calls/s', await load.verdict(), 3_000);
}

/** Replicas of an earlier commit become replicas of this checkout, while calls come in. */
export async function upgrade({ checks, started }) {
  const checkout = join(projectRoot(), 'node_modules', '.cache', `fleet-${from}`);
  makeCheckout(checkout);
  const fleet = await started({ checkout });
  await fleet.register('upgraded');
  await fleet.warm('upgraded');
  const load = new Load(fleet, 'upgraded');
  const replace = async (replica, change) => {
    // Earlier versions refuse calls as soon as they get SIGTERM.
    await fleet.balancer.set(replica.name, 'drain');
    await delay(2_000);
    await replica.end('SIGTERM');
    replica.start(change);
    await replica.ready();
    await fleet.balancer.set(replica.name, 'ready');
    await fleet.allUp();
  };
  for (const replica of fleet.replicas) await replace(replica, { checkout: projectRoot() });
  checkLoad(checks, `upgrade from ${from} at 75 calls/s`, await load.verdict(), 500);
  const back = new Load(fleet, 'upgraded');
  await replace(fleet.replicas[0], { checkout });
  await back.atLeast(500);
  checkLoad(checks, `replica 1 rolled back to ${from}`, await back.verdict(), 500);
}

/** A built copy of the commit, with the packages that it names. */
function makeCheckout(folder) {
  const modules = join(projectRoot(), 'node_modules');
  const run = (script) =>
    execFileSync('sh', ['-ec', script, folder, from, modules], { cwd: projectRoot(), stdio: 'pipe' });
  // Packages are hard links until the setup replaces those that differ; what npm and the setup write in place is copied.
  if (!existsSync(join(folder, 'node_modules')))
    run(`mkdir -p "$0/node_modules"; git archive "$1" | tar -xf - -C "$0"; cd "$2"; cp -al * "$0/node_modules"
      cp -a .bin .package-lock.json .toolkeeper-install "$0/node_modules"`);
  execFileSync(process.execPath, ['scripts/setup.mjs', '--no-console'], { cwd: folder, stdio: 'pipe' });
}
