import { changesOf, fieldsOf, limitsIn, noFields } from './key-fields.js';

const key = {
  ...{ name: 'agent', projects: null, mcpServers: null, tools: ['get_playbooks', 'disk_*'] },
  ...{ rate: { calls: 5, per: 'second' as const }, expiresAt: '2026-01-02T03:04:05.678Z' },
};

it('takes names however they are separated, and none for all', () => {
  expect(limitsIn({ ...noFields, name: ' a ', tools: 'one, two\nthree,,', calls: '7' })).toEqual({
    ...{ name: 'a', tools: ['one', 'two', 'three'], projects: null, mcpServers: null, expiresAt: null },
    rate: { calls: 7, per: 'minute' },
  });
});

it('sends what changed alone: an expiry that is over stays unsaid', () => {
  const fields = fieldsOf(key);
  expect(changesOf(key, fields)).toEqual({});
  expect(changesOf(key, { ...fields, tools: '', calls: '6' })).toEqual({
    tools: null,
    rate: { calls: 6, per: 'second' },
  });
  expect(changesOf(key, { ...fields, expires: '' })).toEqual({ expiresAt: null });
});
