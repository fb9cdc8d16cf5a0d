import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { startApp, type TestApp } from '../support/app.js';

// real: the server, /metrics, the files of docker/observability; mock: nothing. `.ci/observability` checks the expressions themselves.

const read = (name: string): string =>
  readFileSync(join(__dirname, '../../docker/observability', name), 'utf8');
const { groups } = parse(read('alerts.yaml')) as { groups: { rules: { expr: string }[] }[] };
const { panels } = JSON.parse(read('dashboard.json')) as { panels: { targets?: { expr: string }[] }[] };
const expressions = [
  ...groups.flatMap(({ rules }) => rules),
  ...panels.flatMap(({ targets = [] }) => targets),
].map(({ expr }) => expr);

/** Prometheus adds these labels, and `up`. */
const added = ['job', 'instance'];
const operators = ['and', 'or', 'unless'];

/** Everything that is neither a function, an operator, a number nor in a clause or selector. */
const metricsOf = (expression: string): string[] =>
  [
    ...expression
      .replace(/\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
      .matchAll(/\b[a-z_]\w*\b(?!\s*\()/gi),
  ]
    .map(([name]) => name)
    .filter((name) => !operators.includes(name) && name !== 'up');

const selectorsOf = (expression: string): [metric: string, label: string][] =>
  [...expression.matchAll(/(\w+)\{([^}]*)\}/g)].flatMap(([, metric = '', matchers = '']) =>
    [...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']): [string, string] => [metric, label]),
  );

let tk: TestApp;
const labels = new Map<string, Set<string>>();
const declared = new Set<string>();

beforeAll(async () => {
  tk = await startApp();
  await tk.register('watched', { keepAlive: true });
  await tk.call('watched').expect(200);
  await tk.call('nobody').expect(404);
  const { text } = await tk.http.get('/metrics').expect(200);
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm))
    for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
      declared.add(name + suffix);
  for (const [, name = '', pairs = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = labels.get(name) ?? new Set(added);
    for (const [, label = ''] of pairs.matchAll(/(\w+)="/g)) known.add(label);
    labels.set(name, known);
  }
});
afterAll(() => tk.close());

it.each([...new Set(expressions.flatMap(metricsOf))])('the server exports %s', (metric) => {
  expect([...declared]).toContain(metric);
});

it('expressions select by labels that the series have', () => {
  const unknown = expressions
    .flatMap(selectorsOf)
    .filter(([metric, label]) => labels.has(metric) && !labels.get(metric)?.has(label));
  expect(unknown).toEqual([]);
  expect(labels.get('toolkeeper_call_duration_seconds_bucket')).toContain('tool');
});
