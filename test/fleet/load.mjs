import { setTimeout as delay } from 'node:timers/promises';
import { Ledger } from '../chaos/recording/ledger.ts';
import { pace } from '../support/pace.ts';
import { until } from '../support/wait.ts';

/** Plain calls through the balancer at a steady rate, each of which must be answered and have a row. */
export class Load {
  ledger = new Ledger();

  constructor(fleet, tool, perSecond = 75, url = fleet.url) {
    this.fleet = fleet;
    this.stop = pace(perSecond, () => this.ledger.call(url, tool, {}, fleet.key));
  }

  async atLeast(calls) {
    while (this.ledger.calls < calls) await delay(50);
  }

  /** Ends the load. @returns what the callers were told, and what the rows say */
  async verdict() {
    await this.stop();
    const sessions = this.ledger.acknowledgedSessions();
    // What has no row after this time is lost.
    await until(() => this.ledger.haveRows(this.fleet.db, sessions), {
      timeoutMs: 30_000,
      what: 'rows',
    }).catch(() => undefined);
    const verdict = await this.ledger.verdict(this.fleet.db);
    return { ...verdict, failed: verdict.calls - verdict.acknowledged, failures: this.ledger.failures };
  }
}

/** The lines that hold of every load: nothing failed, nothing is lost. */
export function checkLoad(checks, what, verdict, atLeast) {
  const { calls, failed, failures, lost, doubled, wrong, phantom } = verdict;
  const reasons = failed > 0 ? `: ${JSON.stringify(failures)}` : '';
  checks.check(
    failed === 0 && calls >= atLeast,
    `${what}: ${failed} failed of ${calls} (at least ${atLeast})${reasons}`,
  );
  checks.check(
    lost + doubled + wrong + phantom === 0,
    `${what}: ${lost} without a row, ${doubled} doubled, ${wrong + phantom} wrong`,
  );
}
