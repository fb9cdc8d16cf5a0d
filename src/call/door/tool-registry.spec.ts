import { setTimeout as delay } from 'node:timers/promises';
import { KnownTools } from '../circuits/known-tools.js';
import { defineTool } from '../../web/contract/define-tool.js';
import { ToolRegistry } from './tool-registry.js';

const toolNamed = (name: string) => defineTool({ name, description: '', input: {}, run: async () => null });

describe('a name that is not known', () => {
  let registry: ToolRegistry;
  const asked: string[] = [];
  beforeEach(() => {
    asked.length = 0;
    registry = new ToolRegistry(new KnownTools());
    registry.fetch = async (name) => {
      asked.push(name);
      await delay(5);
      if (name === 'elsewhere') registry.register(toolNamed(name));
    };
  });

  it('is looked for once by calls that come together, and found', async () => {
    const found = await Promise.all(['elsewhere', 'elsewhere'].map((name) => registry.lookUp(name)));
    expect(found.map((tool) => tool?.definition.name)).toEqual(['elsewhere', 'elsewhere']);
    expect(asked).toEqual(['elsewhere']);
  });

  it('is not looked for again at once', async () => {
    for (let n = 0; n < 3; n++) expect(await registry.lookUp('nowhere')).toBeUndefined();
    expect(asked).toEqual(['nowhere']);
  });

  it('costs nothing if it is known, and little in a flood', async () => {
    registry.register(toolNamed('here'));
    expect(await registry.lookUp('here')).toBeDefined();
    await Promise.all(Array.from({ length: 100 }, (_, n) => registry.lookUp(`invented_${n}`)));
    expect(asked.length).toBeLessThanOrEqual(4);
  });

  it('is unknown while the database is away', async () => {
    registry.fetch = () => Promise.reject(new Error('away'));
    expect(await registry.lookUp('elsewhere')).toBeUndefined();
  });
});

describe('an exchange of tools', () => {
  const exchanged = (...added: string[]) => {
    const registry = new ToolRegistry(new KnownTools());
    const old = ['first', 'second'].map(toolNamed);
    for (const tool of old) registry.register(tool);
    let changes = 0;
    registry.changes.subscribe(() => (changes += 1));
    registry.exchange(old, added.map(toolNamed));
    return { changes, names: registry.all().map(({ definition }) => definition.name) };
  };

  it('reports no change if the definitions stay the same', () => {
    expect(exchanged('first', 'second')).toEqual({ changes: 0, names: ['first', 'second'] });
  });

  it.each([[['first']], [['first', 'first']], [['first', 'third']]])('reports a change to %j', (added) => {
    expect(exchanged(...added)).toEqual({ changes: 1, names: [...new Set(added)] });
  });
});
