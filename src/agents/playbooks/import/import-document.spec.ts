import { Problem } from '../../../base/common/errors.js';
import { itemsOf, maxItems } from './playbook-import.service.js';

const pointersOf = (body: unknown) => itemsOf(body).map(({ pointer }) => pointer);

describe('the playbooks of an import', () => {
  it('have pointers into the request, however they are wrapped', () => {
    expect(pointersOf({ playbook_id: 'a' })).toEqual(['']);
    expect(pointersOf([{}, {}])).toEqual(['/0', '/1']);
    expect(pointersOf({ playbooks: [{}, {}] })).toEqual(['/playbooks/0', '/playbooks/1']);
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'no playbook'],
    ['an empty list', [], 'no playbook'],
    ['null', null, 'no playbook'],
    ['a wrapped object', { playbooks: {} }, 'must be a list'],
    ['a field beside the list', { playbooks: [], dry_run: true }, 'dry_run'],
    ['too many', Array.from({ length: maxItems + 1 }, () => ({})), 'At most 1000'],
  ])('are refused when there is %s', (_what, body, expected) => {
    expect(() => itemsOf(body)).toThrow(Problem);
    expect(() => itemsOf(body)).toThrow(expected);
  });
});
