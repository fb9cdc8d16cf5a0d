import { Registry } from 'prom-client';
import { ProcessMetrics } from './process-metrics.js';

/** The scraped lines of our own metrics, without comments. */
async function scrape(registry: Registry, prefix = 'toolkeeper_'): Promise<string[]> {
  const text = await registry.metrics();
  return text.split('\n').filter((line) => line.startsWith(prefix));
}

describe('ProcessMetrics', () => {
  it('counts starts and ends, and asks its source for the rest', async () => {
    const registry = new Registry();
    const metrics = new ProcessMetrics(registry);
    metrics.spawned('echo');
    metrics.spawned('echo');
    metrics.terminated('echo', 'timeout');
    metrics.strayLine('echo');
    let busy = 1;
    metrics.observe(() => [{ tool: 'echo', starting: 0, idle: 2, busy, rssBytes: 9_000_000 }]);
    expect(await scrape(registry)).toEqual([
      'toolkeeper_process_spawns_total{tool="echo"} 2',
      'toolkeeper_process_terminations_total{tool="echo",reason="timeout"} 1',
      'toolkeeper_process_stray_lines_total{tool="echo"} 1',
      'toolkeeper_processes{tool="echo",state="starting"} 0',
      'toolkeeper_processes{tool="echo",state="idle"} 2',
      'toolkeeper_processes{tool="echo",state="busy"} 1',
      'toolkeeper_process_memory_bytes{tool="echo"} 9000000',
    ]);
    busy = 0;
    expect(await scrape(registry)).toContain('toolkeeper_processes{tool="echo",state="busy"} 0');
    metrics.observe(() => []);
    metrics.forget('echo');
    expect(await scrape(registry)).toHaveLength(3);
    metrics.terminated('echo', 'stop');
    expect(await scrape(registry)).toEqual([]);
  });
});
