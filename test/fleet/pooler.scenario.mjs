import { readFileSync, writeFileSync } from 'node:fs';
import { until } from '../support/wait.ts';
import { poolModes } from './pooler.mjs';

/** A start that would get no notifications is refused with the reason; all others are ready. */
export async function pooler({ checks, started }) {
  for (const mode of poolModes) {
    const fleet = await started({ poolMode: mode });
    const [, second] = fleet.replicas;
    const { body } = await fleet.ask('GET', '/readyz', undefined, { url: second.url });
    const unwell = Object.entries(body.details ?? {}).filter(([, { status }]) => status !== 'up');
    checks.note(`${mode}: parts that are not up: ${unwell.map(([part]) => part).join(', ') || 'none'}`);
    checks.check(
      body.details?.budgets?.status === 'up',
      `${mode} mode: replicas are ready and count together`,
    );
    if (mode === 'session') continue;
    await second.end('SIGTERM');
    writeFileSync(second.logFile, '');
    second.start({ variables: { ...second.settings.variables, DATABASE_SESSION_URL: '' } });
    await until(() => !second.isRunning, { timeoutMs: 60_000, what: 'the start to be refused' });
    const log = readFileSync(second.logFile, 'utf8');
    checks.check(
      second.child.exitCode === 1 && log.includes('DATABASE_SESSION_URL'),
      `transaction mode without DATABASE_SESSION_URL: exit ${second.child.exitCode}, "${log.trim().split('\n').at(-1)}"`,
    );
  }
}
