import { CallMetrics } from './call-metrics.js';
import { Registry } from 'prom-client';
import { RecorderMetrics } from './recorder-metrics.js';

/** The scraped lines of our own metrics, without comments. */
async function scrape(registry: Registry, prefix = 'toolkeeper_'): Promise<string[]> {
  const text = await registry.metrics();
  return text.split('\n').filter((line) => line.startsWith(prefix));
}

describe('CallMetrics', () => {
  it('counts calls, durations and what is in flight', async () => {
    const registry = new Registry();
    const metrics = new CallMetrics(registry);
    metrics.started('echo');
    metrics.started('echo');
    metrics.started('echo');
    metrics.ended('echo', 'success', 0.004);
    metrics.ended('echo', 'timeout', 30);
    const lines = await scrape(registry);
    expect(lines).toEqual(
      expect.arrayContaining([
        'toolkeeper_calls_total{tool="echo",status="success"} 1',
        'toolkeeper_calls_total{tool="echo",status="error"} 0',
        'toolkeeper_calls_total{tool="echo",status="timeout"} 1',
        'toolkeeper_calls_in_flight{tool="echo"} 1',
        'toolkeeper_call_duration_seconds_bucket{le="0.005",tool="echo"} 1',
        'toolkeeper_call_duration_seconds_count{tool="echo"} 2',
      ]),
    );
    expect(await scrape(registry)).toEqual(lines);
  });

  it('counts refusals by reason, and unknown names under one label', async () => {
    const registry = new Registry();
    const metrics = new CallMetrics(registry);
    metrics.refused('echo', 'queue_full');
    metrics.refused('echo', 'queue_full');
    metrics.refused(undefined, 'tool_not_found');
    expect(await scrape(registry, 'toolkeeper_refusals_total')).toEqual([
      'toolkeeper_refusals_total{tool="echo",reason="queue_full"} 2',
      'toolkeeper_refusals_total{tool="unknown",reason="tool_not_found"} 1',
    ]);
  });

  it('removes every series of a deleted tool when its last call has ended', async () => {
    const registry = new Registry();
    const metrics = new CallMetrics(registry);
    metrics.started('gone');
    metrics.refused('gone', 'queue_full');
    metrics.forget('gone');
    expect(await scrape(registry)).toContain('toolkeeper_calls_in_flight{tool="gone"} 1');
    metrics.ended('gone', 'success', 1);
    expect((await scrape(registry)).filter((line) => line.includes('gone'))).toEqual([]);
  });
});

describe('RecorderMetrics', () => {
  it('shows what its source says, from the start', async () => {
    const registry = new Registry();
    const metrics = new RecorderMetrics(registry);
    expect(await scrape(registry)).toEqual([
      'toolkeeper_recorder_depth 0',
      'toolkeeper_recorder_oldest_seconds 0',
      'toolkeeper_journal_bytes 0',
      'toolkeeper_recorder_recorded_total 0',
      'toolkeeper_recorder_dropped_total 0',
      'toolkeeper_recorder_quarantined_total 0',
      'toolkeeper_journal_damaged_lines_total 0',
      'toolkeeper_journal_write_failures_total 0',
    ]);
    metrics.observe(() => ({ depth: 7, oldestMs: 1_500, bytes: 4_096, recorded: 100, dropped: 2 }));
    metrics.quarantined();
    metrics.damaged(3);
    metrics.writeFailed();
    await scrape(registry);
    expect(await scrape(registry)).toEqual([
      'toolkeeper_recorder_depth 7',
      'toolkeeper_recorder_oldest_seconds 1.5',
      'toolkeeper_journal_bytes 4096',
      'toolkeeper_recorder_recorded_total 100',
      'toolkeeper_recorder_dropped_total 2',
      'toolkeeper_recorder_quarantined_total 1',
      'toolkeeper_journal_damaged_lines_total 3',
      'toolkeeper_journal_write_failures_total 1',
    ]);
  });
});
