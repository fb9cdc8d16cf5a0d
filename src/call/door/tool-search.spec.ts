import { Cancellation } from '../../base/common/cancellation.js';
import type { KnownTools } from '../circuits/known-tools.js';
import type { Tool } from '../../web/contract/tool.js';
import type { CallReports } from './call-reports.js';
import { findTools, ToolSearch } from './tool-search.js';
import { ToolRegistry } from './tool-registry.js';

/** Systems with what is done to each of their things: 500 tools and more, as some MCP servers side by side have them. */
const systems: Record<string, Record<string, string>> = {
  github: {
    issue: 'an issue of a repository',
    pull_request: 'a pull request of a repository',
    branch: 'a branch of a repository',
    release: 'a release with its notes',
    workflow_run: 'a run of a CI workflow',
    gist: 'a gist',
  },
  gitlab: {
    merge_request: 'a merge request',
    pipeline: 'a CI pipeline',
    runner: 'a CI runner',
    snippet: 'a snippet of code',
  },
  jira: { ticket: 'a ticket of a project', sprint: 'a sprint of a board', epic: 'an epic of a project' },
  slack: { message: 'a message in a channel', channel: 'a channel', reaction: 'a reaction to a message' },
  gmail: { email: 'an email', draft: 'the draft of an email', email_label: 'a label of emails' },
  calendar: { event: 'a meeting in a calendar', invitation: 'the invitation of a guest to a meeting' },
  drive: {
    file: 'a file in the cloud drive',
    folder: 'a folder in the cloud drive',
    share: 'a share of a file',
  },
  postgres: { table: 'a table', query: 'a SQL query', index: 'an index of a table', role: 'a role' },
  mongo: { collection: 'a collection', document: 'a document' },
  redis: { key: 'a key with its value', stream: 'a stream' },
  kafka: { topic: 'a topic', consumer_group: 'a consumer group with its lag' },
  s3: { bucket: 'a bucket', object: 'an object in a bucket' },
  ec2: {
    instance: 'a virtual machine',
    volume: 'a disk of a virtual machine',
    snapshot: 'a snapshot of a disk',
  },
  lambda: { function: 'a serverless function', function_log: 'log lines of a serverless function' },
  dns: { record: 'a DNS record of a zone', zone: 'a DNS zone' },
  kubernetes: {
    pod: 'a pod with its containers',
    deployment: 'a deployment with its replicas',
    node: 'a node of the cluster',
    secret: 'a secret of a namespace',
    ingress: 'an ingress',
  },
  docker: { container: 'a container', image: 'an image', network: 'a network between containers' },
  prometheus: { metric: 'a time series', alert: 'a firing alert', rule: 'an alerting rule' },
  grafana: { dashboard: 'a dashboard', panel: 'a panel of a dashboard', annotation: 'a mark on a dashboard' },
  stripe: {
    invoice: 'an invoice',
    refund: 'a refund of a payment',
    subscription: 'a subscription',
    customer: 'a customer',
  },
  salesforce: {
    lead: 'a sales lead',
    opportunity: 'a sales opportunity',
    account: 'an account of a customer',
  },
  zendesk: { support_case: 'the case of a customer who asked for support', macro: 'a prepared answer' },
  notion: { page: 'a page of notes', database: 'a database of notes', comment: 'a comment on a page' },
  figma: { frame: 'a frame of a design', design_comment: 'a comment on a design' },
  hubspot: { contact: 'a contact', deal: 'a deal', campaign: 'a marketing campaign' },
  pagerduty: {
    incident: 'an incident',
    schedule: 'who is on call and when',
    escalation: 'an escalation policy',
  },
  sentry: { exception: 'an exception with its stack trace', project: 'a project of an application' },
  weather: { forecast: 'the weather forecast of a place', station: 'a weather station' },
  maps: { route: 'a route between two places', place: 'a place by its address' },
  translate: { text: 'a text in another language', glossary: 'a glossary of terms' },
};
const acts = {
  list: ['List', 'limit', 'How many are listed'],
  get: ['Read one:', 'id', 'Which one'],
  create: ['Create', 'body', 'What it holds'],
  update: ['Change', 'changes', 'What is to be changed'],
  delete: ['Delete', 'id', 'Which one is deleted'],
  watch: ['Tell about changes of', 'until', 'When to stop, as a time'],
} as const;

const tool = (name: string, description: string, member: string, said: string): Tool => ({
  definition: {
    name,
    description,
    kind: 'custom',
    version: '1.0.0',
    inputSchema: { type: 'object', properties: { [member]: { type: 'string', description: said } } },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: [],
    timeoutMs: 1_000,
  },
  validate: () => [],
  run: async () => undefined,
});

let registry: ToolRegistry;
let search: ToolSearch;
beforeAll(() => {
  registry = new ToolRegistry({ set: () => undefined } as unknown as KnownTools);
  search = new ToolSearch(registry, { usesOf: () => 0 } as unknown as CallReports);
  for (const [system, things] of Object.entries(systems))
    for (const [thing, what] of Object.entries(things))
      for (const [act, [does, member, said]] of Object.entries(acts))
        registry.register(tool(`${system}__${act}_${thing}`, `${does} ${what}`, member, said));
  registry.register(tool('webSearch', 'Look something up on the internet', 'limit', 'Pages in the answer'));
  registry.register(tool('sha', 'Hash a value', 'algorithm', 'sha256 or blake3, a fingerprint'));
});

const names = async (query: string) =>
  (await search.find(query)).map(({ tool: { definition } }) => definition.name);

describe('among hundreds of tools', () => {
  it('there are hundreds', () => expect(registry.size).toBeGreaterThan(450));

  it.each([
    ['create an issue in github', 'github__create_issue'],
    ['open a new GitHub issue about the crash', 'github__create_issue'],
    ['which pull requests of the repository are open', 'github__list_pull_request'],
    ['delete a merge request', 'gitlab__delete_merge_request'],
    ['send a message to a slack channel', 'slack__create_message'],
    ['read an email', 'gmail__get_email'],
    ['list meetings in my calendar', 'calendar__list_event'],
    ['run a sql query on postgres', 'postgres__create_query'],
    ['consumer lag of a kafka topic', 'kafka__get_consumer_group'],
    ['delete an object from an S3 bucket', 's3__delete_object'],
    ['snapshot of a disk', 'ec2__create_snapshot'],
    ['log lines of the lambda function', 'lambda__get_function_log'],
    ['change a DNS record', 'dns__update_record'],
    ['list pods in k8s', 'kubernetes__list_pod'],
    ['firing alerts', 'prometheus__list_alert'],
    ['refund a payment', 'stripe__create_refund'],
    ['who is on call', 'pagerduty__get_schedule'],
    ['stack trace of an exception', 'sentry__get_exception'],
    ['weather forecast for Lisbon tomorrow', 'weather__get_forecast'],
    ['route between two addresses', 'maps__get_route'],
    ['translate a text into another language', 'translate__create_text'],
    ['search the web', 'webSearch'],
    ['look it up on the internet', 'webSearch'],
    ['fingerprint with blake3', 'sha'],
    ['getPullRequest', 'github__get_pull_request'],
  ])('%s: the right one is among the first five', async (query, wanted) => {
    expect((await names(query)).slice(0, 5)).toContain(wanted);
  });

  it('a part of a name is enough, and ranks below words', async () => {
    expect(await names('webS')).toEqual(['webSearch']);
    expect(await names('consumer_gr')).toContain('kafka__watch_consumer_group');
  });

  it('nothing shares a word with nonsense', async () => {
    expect(await names('xyzzy plugh')).toEqual([]);
  });
});

describe('a tool that comes or goes', () => {
  it('is found, or not, by the next search', async () => {
    expect(await names('brew coffee')).toEqual([]);
    const coffee = tool('coffee', 'Brew a cup', 'size', 'Small or large');
    registry.register(coffee);
    expect(await names('brew coffee')).toEqual(['coffee']);
    registry.exchange([coffee], []);
    expect(await names('brew coffee')).toEqual([]);
  });
});

describe('find_tools', () => {
  const run = (scopes: readonly 'tools:call'[], input: object) =>
    findTools(search).run(input, {
      principal: { userId: 'u', scopes: new Set(scopes) },
      context: {},
      deadline: { totalMs: 1_000, remainingMs: () => 1_000 },
      cancellation: new Cancellation(),
    } as never);

  it('answers what an agent needs to call the best few', async () => {
    registry.register(findTools(search));
    expect(await run(['tools:call'], { query: 'create the refund of a payment', limit: 1 })).toEqual({
      tools: [
        {
          name: 'stripe__create_refund',
          description: 'Create a refund of a payment',
          inputSchema: {
            type: 'object',
            properties: { body: { type: 'string', description: 'What it holds' } },
          },
        },
      ],
      total: expect.any(Number),
      moreWithSameScore: 0,
    });
    const { tools } = (await run(['tools:call'], { query: 'find tools' })) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).not.toContain('find_tools');
  });

  it('shows a caller nothing that it may not call', async () => {
    expect(await run([], { query: 'refund a payment' })).toMatchObject({ tools: [], total: 0 });
  });
});
