import fc from 'fast-check';
import { CallMetrics } from './call-metrics.js';
import { Registry } from 'prom-client';
import { PlaybookMetrics } from './playbook-metrics.js';

const prefix = 'holmesgpt_playbook_tool_call';

function setUp() {
  const registry = new Registry();
  const calls = new CallMetrics(registry);
  const metrics = new PlaybookMetrics(registry, calls);
  const scrape = async (name: string): Promise<string[]> => {
    const text = await registry.metrics();
    return text.split('\n').filter((line) => line.startsWith(`${prefix}${name}`));
  };
  return { registry, calls, metrics, scrape };
}

/** The names, types and labels of BR-HAPI-049 (seed 002), read from what Prometheus would scrape. */
describe('PlaybookMetrics', () => {
  it('counts calls by status and times what was run (metrics recording)', async () => {
    const { metrics, scrape } = setUp();
    metrics.ended('success', 0.004);
    metrics.ended('timeout', 2, 'timeout');
    metrics.reused();
    expect(await scrape('_total')).toEqual([
      `${prefix}_total{status="success"} 2`,
      `${prefix}_total{status="error"} 0`,
      `${prefix}_total{status="timeout"} 1`,
      `${prefix}_total{status="refused"} 0`,
    ]);
    const durations = await scrape('_duration_seconds');
    expect(durations).toEqual(
      expect.arrayContaining([
        `${prefix}_duration_seconds_bucket{le="0.005"} 1`,
        `${prefix}_duration_seconds_bucket{le="2"} 2`,
        `${prefix}_duration_seconds_sum 2.004`,
        `${prefix}_duration_seconds_count 2`,
      ]),
    );
    expect(await scrape('')).toEqual(await scrape(''));
  });

  it('counts failures and refusals by their reason (metrics labels)', async () => {
    const { metrics, calls, scrape } = setUp();
    metrics.ended('error', 1, 'upstream_unavailable');
    metrics.ended('error', 1, 'upstream_unavailable');
    metrics.ended('timeout', 1, 'timeout');
    calls.refused('get_playbooks', 'invalid_input');
    calls.refused('get_context', 'investigation_budget_spent');
    calls.refused('echo', 'queue_full');
    calls.refused(undefined, 'tool_not_found');
    expect(await scrape('_errors_total')).toEqual([
      `${prefix}_errors_total{type="upstream_unavailable"} 2`,
      `${prefix}_errors_total{type="timeout"} 1`,
      `${prefix}_errors_total{type="invalid_input"} 1`,
      `${prefix}_errors_total{type="investigation_budget_spent"} 1`,
    ]);
    expect(await scrape('_total{status="refused"')).toEqual([`${prefix}_total{status="refused"} 2`]);
  });

  it('has the types that the names promise', async () => {
    const { registry } = setUp();
    const types = [...(await registry.metrics()).matchAll(/# TYPE (holmesgpt\S+) (\w+)/g)];
    expect(Object.fromEntries(types.map(([, name, type]) => [name, type]))).toEqual({
      [`${prefix}_total`]: 'counter',
      [`${prefix}_errors_total`]: 'counter',
      [`${prefix}_duration_seconds`]: 'histogram',
      [`${prefix}_rate`]: 'gauge',
      [`${prefix}_cache_hit_rate`]: 'gauge',
    });
  });

  it('asks for the shares when somebody scrapes', async () => {
    const { metrics, scrape } = setUp();
    expect(await scrape('_rate')).toEqual([`${prefix}_rate 0`]);
    metrics.observe(() => ({ callRate: 0.6, cacheHitRate: 0.25 }));
    expect(await scrape('_rate')).toEqual([`${prefix}_rate 0.6`]);
    expect(await scrape('_cache_hit_rate')).toEqual([`${prefix}_cache_hit_rate 0.25`]);
  });

  it('has as many errors as calls that did not succeed', async () => {
    const end = fc.constantFrom('success', 'error', 'timeout', 'refused', 'reused');
    await fc.assert(
      fc.asyncProperty(fc.array(end, { maxLength: 40 }), async (ends) => {
        const { metrics, calls, scrape } = setUp();
        for (const kind of ends) {
          if (kind === 'reused') metrics.reused();
          else if (kind === 'refused') calls.refused('get_playbooks', 'circuit_open');
          else metrics.ended(kind, 0.1, kind === 'success' ? undefined : kind);
        }
        const sum = async (name: string, but = 'nothing'): Promise<number> =>
          (await scrape(name))
            .filter((line) => !line.includes(but))
            .reduce((total, line) => total + Number(line.split(' ')[1]), 0);
        expect(await sum('_errors_total')).toBe(await sum('_total', 'success'));
        expect(await sum('_total')).toBe(ends.length);
      }),
      { numRuns: 50 },
    );
  });
});
