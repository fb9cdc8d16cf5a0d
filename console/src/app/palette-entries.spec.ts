import { entriesFor } from './palette-entries.js';

const tools = [
  { name: 'disk_usage', kind: 'custom' },
  { name: 'log_summary2', kind: 'custom' },
];
const playbooks = [{ name: 'Repair name resolution', playbook_id: 'cluster-dns-repair' }];
const names = (typed: string): string[] => entriesFor(typed, { tools, playbooks }).map(({ name }) => name);

it('finds by all words, and offers to look for the text as an id last', () => {
  expect(names('DISK us')).toEqual(['disk_usage', 'Playbooks for DISK us', 'Records with the id DISK us']);
  expect(names('dns repair')[0]).toBe('Repair name resolution');
  expect(names('')).toEqual(expect.arrayContaining(['disk_usage', 'Overview']));
});

it('takes what looks like an id for one, so that Enter finds it, but not the name of a tool', () => {
  expect(names('01a2b3c4-1')[0]).toBe('Records with the id 01a2b3c4-1');
  expect(names('log_summary2')[0]).toBe('log_summary2');
  expect(entriesFor('inc/42 ', { tools, playbooks })[0]?.to).toBe('/find?id=inc%2F42');
});

it('offers acts on a tool to those who write a word of both', () => {
  expect(entriesFor('close circuit disk', { tools, playbooks })[0]).toEqual({
    name: 'Close circuit: disk_usage',
    kind: 'Do',
    to: '/tools/disk_usage/circuit?act=close-circuit',
  });
  expect(names('disk')).not.toContain('Close circuit: disk_usage');
  expect(names('edit disk')[0]).toBe('Edit: disk_usage');
});

it('offers to close the circuits that are open, where it knows them', () => {
  const closing = entriesFor('close circuit', { tools, playbooks, openCircuits: ['log_summary2'] });
  expect(closing.map(({ name }) => name).filter((name) => name.startsWith('Close'))).toEqual([
    'Close circuit: log_summary2',
  ]);
});

it.each([
  ['sign out', 'Sign out'],
  ['dark', 'About this server; theme: light, dark'],
  ['revoke', 'API keys: change, revoke'],
])('finds what a person wants to do first: %s', (typed, first) => {
  expect(names(typed)[0]).toBe(first);
});
