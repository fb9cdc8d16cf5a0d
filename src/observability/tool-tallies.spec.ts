import { ToolTallies } from './tool-tallies.js';

describe('ToolTallies', () => {
  const setUp = () => {
    const deleted: string[] = [];
    const tallies = new ToolTallies(
      () => ({ live: 0, forgotten: false }),
      (tool) => deleted.push(tool),
    );
    return { tallies, deleted, names: () => [...tallies.entries()].map(([name]) => name) };
  };

  it('forgets an idle tool at once', () => {
    const { tallies, deleted, names } = setUp();
    tallies.begin('a');
    tallies.end('a');
    tallies.forget('a');
    tallies.forget('never seen');
    expect([names(), deleted]).toEqual([[], ['a']]);
  });

  it('keeps a busy one until its last has ended', () => {
    const { tallies, deleted, names } = setUp();
    tallies.begin('a');
    tallies.begin('a');
    tallies.forget('a');
    tallies.end('a');
    expect(names()).toEqual(['a']);
    tallies.end('a');
    expect([names(), deleted]).toEqual([[], ['a']]);
  });

  it('keeps one that comes back under its name', () => {
    const { tallies, names } = setUp();
    tallies.begin('a');
    tallies.forget('a');
    tallies.begin('a');
    tallies.end('a');
    tallies.end('a');
    expect(names()).toEqual(['a']);
  });

  it('never counts below zero', () => {
    const { tallies } = setUp();
    expect(tallies.end('a').live).toBe(0);
  });
});
