import { defaultThresholds } from '../../web/contract/tool.js';
import { KnownTools } from './known-tools.js';

it('knows the tools of the last push', () => {
  const known = new KnownTools();
  known.set([{ name: 'old' }]);
  known.set([{ name: 'a' }, { name: 'b' }]);
  expect(known.names()).toEqual(['a', 'b']);
  expect([known.has('a'), known.has('old')]).toEqual([true, false]);
});

it("puts a tool's thresholds over the defaults", () => {
  const known = new KnownTools();
  known.set([{ name: 'slow', thresholds: { latencyHealthyMs: 60_000 } }, { name: 'usual' }]);
  expect(known.thresholdsOf('slow')).toEqual({ ...defaultThresholds, latencyHealthyMs: 60_000 });
  expect(known.thresholdsOf('usual')).toEqual(defaultThresholds);
  expect(known.thresholdsOf('nobody')).toEqual(defaultThresholds);
});

it('tells after each push, when the new tools are already known', () => {
  const known = new KnownTools();
  const seen: string[][] = [];
  known.changes.subscribe(() => seen.push(known.names()));
  known.set([{ name: 'a' }]);
  known.set([]);
  expect(seen).toEqual([['a'], []]);
});
