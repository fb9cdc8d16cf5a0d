import { join } from 'node:path';
import { mountSmallDisk, smallDiskBytes } from '../../support/small-disk.js';
import { until } from '../../support/wait.js';
import type { Finding } from './drills.js';
import { Ledger } from './ledger.js';
import { Rig } from './rig.js';

/**
 * The database is away until the journal's disk is full: calls are refused, those in flight end all the same, and
 * everything has its true row when the database is back and the journal gives its room back.
 * @returns undefined where nothing can be mounted
 */
export async function fillDisk(): Promise<Finding | undefined> {
  const rig = new Rig();
  rig.journal = join(rig.folder, 'small-disk');
  const unmount = mountSmallDisk(rig.journal);
  try {
    if (!unmount) return undefined;
    // The cap lies beyond the disk: what stops is the disk.
    await rig.open({ JOURNAL_MAX_BYTES: String(64 * smallDiskBytes) });
    const ledger = new Ledger();
    const stop = rig.load(ledger, 8);
    // In flight while the disk is full, for some of the time.
    const slow: Promise<void>[] = [];
    await until(() => ledger.acknowledged > 20, { what: 'calls' });
    await rig.db.stopAtOnce();
    await until(
      () => {
        if (slow.length < 400 && ledger.refusedWith('recorder_full') === 0)
          slow.push(ledger.call(rig.url, 'held', { action: 'sleep', ms: 20 }));
        return ledger.refusedWith('recorder_full') > 50;
      },
      { what: 'the disk to be full', timeoutMs: 120_000 },
    );
    const refusedAtFirst = ledger.refusedWith('recorder_full');
    const { details } = (await (await fetch(`${rig.url}/readyz`)).json()) as {
      details: { recorder: { status: string } };
    };
    const notReady = Number(details.recorder.status === 'down');
    await Promise.all(slow);
    await rig.db.start();
    const drainSeconds = await rig.drained(ledger);
    const before = ledger.acknowledged;
    await until(() => ledger.acknowledged > before + 50, {
      what: 'calls to be taken again',
      timeoutMs: 30_000,
    });
    await stop();
    await rig.drained(ledger);
    const figures = { refusedAtFirst, notReady, slow: slow.length };
    return { drill: 'disk full', rounds: 1, verdict: await ledger.verdict(rig.db), drainSeconds, figures };
  } finally {
    await rig.kill();
    unmount?.();
    await rig.close();
  }
}
