import type { ApiBodyOptions } from '@nestjs/swagger';

type Schema = Extract<ApiBodyOptions, { schema: unknown }>['schema'];
type Examples = NonNullable<Extract<ApiBodyOptions, { schema: unknown }>['examples']>;

const playbook: Schema = { $ref: '#/components/schemas/CreatePlaybookBody' };

export const importBodySchema: Schema = {
  oneOf: [
    playbook,
    { type: 'array', items: playbook },
    {
      type: 'object',
      required: ['playbooks'],
      properties: { playbooks: { type: 'array', items: playbook } },
    },
  ],
};

const retries = {
  playbook_id: 'retry-storm-calm',
  version: '1.0.0',
  name: 'Calm a storm of retries',
  description: 'Clients repeat what fails and keep a service down that has recovered. Caps their retries.',
  labels: { environment: '*' },
  signals: ['retry budget exhausted'],
  content: { kind: 'RemediationPlaybook', steps: [{ name: 'cap', action: 'ReconfigureResource' }] },
};
const cache = {
  playbook_id: 'cache-stampede-damp',
  version: '1.0.0',
  name: 'Damp a cache stampede',
  description: 'A hot key expires and every request asks the database. Refreshes it early, by one of them.',
  labels: { environment: ['staging', 'production'] },
  aliases: ['thundering herd'],
  content: 'steps:\n  - name: refresh early\n',
};

export const importExamples: Examples = {
  list: { summary: 'A list', value: [retries, cache] },
  one: { summary: 'One playbook, which is stored already', value: retries },
  wrapped: { summary: 'As this server lists them', value: { playbooks: [cache] } },
};
