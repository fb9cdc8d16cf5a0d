import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { Problem } from '../../base/common/errors.js';
import { projectRoot } from '../../base/common/project.js';
import { DtoPipe } from '../../web/rest/dto.pipe.js';
import { CreatePlaybookBody } from './playbook-bodies.dto.js';

const good = { playbook_id: 'a', version: '1.0.0', name: 'n', description: 'd', content: { kind: 'x' } };

async function pointersOf(body: unknown): Promise<string[]> {
  try {
    await new DtoPipe().read(CreatePlaybookBody, body);
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.details.errors?.map(({ pointer }) => pointer) ?? [];
  }
}

function nested(levels: number): object {
  let value: object = {};
  for (let at = 1; at < levels; at++) value = { value };
  return value;
}

describe('a new playbook', () => {
  const folder = join(projectRoot(), 'playbooks');
  it.each(readdirSync(folder))('is what %s holds', async (file) => {
    const document = parse(readFileSync(join(folder, file), 'utf8'), { schema: 'core' });
    expect(await pointersOf(document)).toEqual([]);
    expect(file).toBe(`${document.playbook_id}.yaml`);
    expect(document.content.steps.length).toBeGreaterThanOrEqual(3);
    for (const field of ['owner', 'labels', 'signals', 'aliases', 'when_to_use', 'when_not_to_use']) {
      expect(document).toHaveProperty(field);
    }
    expect(document.expected_success_rate).toBeGreaterThan(0.5);
    expect(document.expected_duration_seconds).toBeGreaterThan(0);
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ['the least there can be', {}, []],
    ['content as text', { content: 'kind: X' }, []],
    ['labels with lists and stars', { labels: { a: ['b', 'c'], 'kubernaut.io/environment': '*' } }, []],
    ['an id with a slash', { playbook_id: 'a/b' }, ['/playbook_id']],
    ['no semantic version', { version: 'newest' }, ['/version']],
    ['a version as number', { version: 1 }, ['/version']],
    ['a blank name', { name: ' ' }, ['/name']],
    ['a NUL', { description: 'a\0b' }, ['/description']],
    ['half a surrogate pair', { name: '\ud800' }, ['/name']],
    ['no content', { content: undefined }, ['/content']],
    ['a number as content', { content: 5 }, ['/content']],
    ['a NUL deep in the content', { content: { a: [{ b: '\0' }] } }, ['/content/a/0/b']],
    ['a NUL in a key of the content', { content: { 'a\0': 1 } }, ['/content']],
    ['content at the limit of depth', { content: nested(32) }, []],
    ['content that is too deep', { content: nested(34) }, ['/content']],
    ['a label that is no text', { labels: { a: 1 } }, ['/labels']],
    ['a label with an empty list', { labels: { a: [] } }, ['/labels']],
    ['a label key with a blank', { labels: { 'a b': 'c' } }, ['/labels']],
    ['label keys that differ in case only', { labels: { env: 'a', ENV: 'b' } }, ['/labels']],
    ['labels as a list', { labels: ['a'] }, ['/labels']],
    ['signals as text', { signals: 'OOMKilled' }, ['/signals']],
    ['a blank alias', { aliases: [''] }, ['/aliases']],
    ['a rate above 1', { expected_success_rate: 1.1 }, ['/expected_success_rate']],
    ['a rate that is no number', { expected_success_rate: 'high' }, ['/expected_success_rate']],
    ['a duration below 0', { expected_duration_seconds: -1 }, ['/expected_duration_seconds']],
    ['a field that only the catalogue sets', { status: 'archived' }, ['/status']],
    ['two wrong fields', { name: 1, owner: '' }, ['/name', '/owner']],
  ])('with %s', async (_case, over, pointers) => {
    expect((await pointersOf({ ...good, ...over })).sort()).toEqual(pointers);
  });
});
