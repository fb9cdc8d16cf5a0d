import { Problem } from '../../../common/errors.js';
import { itemsOf, maxItems } from './import-document.js';

const pointersOf = (body: unknown) => itemsOf(body).map(({ pointer }) => pointer);

describe('the playbooks of an import', () => {
  it('have pointers into the request, however they are wrapped', () => {
    expect(pointersOf({ playbook_id: 'a' })).toEqual(['']);
    expect(pointersOf([{}, {}])).toEqual(['/0', '/1']);
    expect(pointersOf({ playbooks: [{}, {}] })).toEqual(['/playbooks/0', '/playbooks/1']);
    expect(pointersOf('a: 1')).toEqual(['']);
    expect(pointersOf('- a: 1\n- b: 2')).toEqual(['/0', '/1']);
    expect(pointersOf('a: 1\n---\n- b: 2\n- c: 3\n---\n')).toEqual(['/0', '/1', '/2']);
  });

  it('are read from YAML as it is meant today: no is a word, and times are text', () => {
    expect(itemsOf('answer: no\nat: 2026-01-23\nversion: 1.10')[0]?.value).toEqual({
      answer: 'no',
      at: '2026-01-23',
      version: 1.1,
    });
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'no playbook'],
    ['an empty list', [], 'no playbook'],
    ['empty YAML', '# nothing\n', 'no playbook'],
    ['YAML that is none', 'a: [1', 'cannot be read'],
    ['an unknown alias', 'a: *b', 'cannot be read'],
    ['a wrapped object', { playbooks: {} }, 'must be a list'],
    ['a field beside the list', { playbooks: [], dry_run: true }, 'dry_run'],
    ['too many', Array.from({ length: maxItems + 1 }, () => ({})), 'At most 1000'],
  ])('are refused when there is %s', (_what, body, expected) => {
    expect(() => itemsOf(body)).toThrow(Problem);
    expect(() => itemsOf(body)).toThrow(expected);
  });
});
