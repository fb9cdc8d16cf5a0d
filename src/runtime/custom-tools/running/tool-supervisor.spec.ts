import type { ToolEvent } from '../../../base/streams/tool-events.js';
import { ConditionEvents } from './condition-events.js';

function setUp() {
  const said: Omit<ToolEvent, 'timestamp'>[] = [];
  const conditions = new ConditionEvents((event) => said.push(event));
  return { said, conditions, types: () => said.map(({ type }) => type) };
}
const exit = { exitCode: 3, signal: null };
const healthy = { name: 't', status: 'active', healthStatus: 'healthy', errorMessage: null } as const;

describe('ConditionEvents', () => {
  it('says nothing of a tool that is well', () => {
    const { conditions, said } = setUp();
    conditions.written(healthy);
    conditions.recovered('t');
    expect(said).toEqual([]);
  });

  it('says a crash once, until the tool has recovered', () => {
    const { conditions, said, types } = setUp();
    for (let n = 0; n < 100; n++) conditions.crashed('t', exit);
    conditions.written({ name: 't', healthStatus: 'unhealthy', errorMessage: 'A process of it ended' });
    expect(said).toEqual([
      { type: 'tool.crashed', tool: 't', message: 'A process of it ended with exit code 3', data: exit },
    ]);
    conditions.written(healthy);
    conditions.crashed('t', { exitCode: null, signal: 'SIGSEGV' });
    expect(types()).toEqual(['tool.crashed', 'tool.recovered', 'tool.crashed']);
    expect(said[1]?.data).toEqual({ from: 'crashed' });
    expect(said[2]?.message).toBe('A process of it ended by SIGSEGV');
  });

  it('goes from bad to worse, and back', () => {
    const { conditions, types } = setUp();
    conditions.written({ name: 't', healthStatus: 'degraded', errorMessage: 'slow disk' });
    conditions.written({ name: 't', healthStatus: 'unhealthy' });
    conditions.crashed('t', exit);
    conditions.failed('t', 'start failed 3 times');
    conditions.crashed('t', exit);
    conditions.written({ name: 't', status: 'error', errorMessage: 'start failed 3 times' });
    conditions.recovered('t');
    expect(types()).toEqual(['tool.degraded', 'tool.crashed', 'tool.failed', 'tool.recovered']);
  });

  it('tells tools apart, and forgets one that is disabled or gone', () => {
    const { conditions, types } = setUp();
    conditions.crashed('a', exit);
    conditions.crashed('b', exit);
    conditions.written({ name: 'a', status: 'inactive' });
    conditions.forget('b');
    conditions.written({ ...healthy, name: 'a' });
    conditions.written({ ...healthy, name: 'b' });
    expect(types()).toEqual(['tool.crashed', 'tool.crashed']);
  });
});
