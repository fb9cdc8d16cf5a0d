import { until } from '../support/wait.ts';
import { counted, inTurn, within } from './check.mjs';
import { checkLoad, Load } from './load.mjs';

/** One replica is cut off from the database for 30 s: acts at another one name it, and so does the list of replicas. */
export async function cut({ fleet, checks }) {
  const [first, , third] = fleet.replicas;
  const at = ({ url }, method, path, body) => fleet.ask(method, path, body, { url });
  await fleet.register('cut');
  await fleet.register('doomed');
  await fleet.register('kept');
  for (const name of ['cut', 'doomed', 'kept']) await fleet.warm(name);
  const { body: key } = await at(first, 'POST', '/api/v1/keys', { name: 'cut', scopes: ['tools:call'] });
  const rowOf = async () =>
    (await at(first, 'GET', '/api/v1/replicas')).body.data?.find(({ address }) => address === third.url);
  const { name } = await until(rowOf, { what: 'replica 3 in the list' });
  const load = new Load(fleet, 'cut', 50);
  await load.atLeast(50);
  fleet.link.cut();
  const since = performance.now();
  await firstAnswers({ fleet, checks, third });
  const isSilent = async () => (await rowOf())?.silentSince;
  await until(isSilent, { timeoutMs: within(3_000), what: 'silence' }).catch(() => undefined);
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  checks.check(Boolean(await isSilent()), `${name} is silent in the list ${seconds} s after the cut`);
  const acts = [
    ['POST', '/api/v1/tool-health/doomed/circuit/open', { reason: 'test' }],
    ['POST', '/api/v1/tool-health/doomed/circuit/close', { reason: 'test' }],
    ['POST', '/api/v1/custom-tools/doomed/disable'],
    ['DELETE', '/api/v1/custom-tools/doomed'],
    ['DELETE', `/api/v1/keys/${key.id}`],
  ];
  const answers = await inTurn(acts.length, (n) => at(first, ...acts[n]));
  await until(() => performance.now() - since >= 25_000, { timeoutMs: 60_000, what: '25 s' });
  answers.push(await at(first, 'POST', '/api/v1/tool-health/kept/circuit/open', { reason: 'test' }));
  answers.push(await at(first, 'POST', '/api/v1/tool-health/kept/circuit/reset', { reason: 'test' }));
  const said = answers.map(({ status, body }) => `${status} ${body?.missing?.join()}`);
  checks.check(
    said.every((each) => each === `202 ${name}`),
    `open, close, disable, delete, revoke; open and reset after 25 s: ${counted(said)} (202 ${name})`,
  );
  await until(() => performance.now() - since >= 30_000, { timeoutMs: 60_000, what: '30 s' });
  fleet.link.heal();
  const isBack = async () => (await rowOf())?.silentSince === null;
  await until(isBack, { timeoutMs: within(15_000), what: 'replica 3 to answer' }).catch(() => undefined);
  checks.check(await isBack(), `${name} is not silent any more`);
  const gone = await fleet.call('doomed', {}, { url: third.url });
  checks.check(gone.said === 'tool_not_found', `what was deleted is ${gone.said} there (tool_not_found)`);
  await load.atLeast(1_000);
  checkLoad(checks, 'plain calls', await load.verdict(), 1_000);
}

/** The first request that needs the database, before the replica knows that it is cut off. */
async function firstAnswers({ fleet, checks, third }) {
  const { url } = third;
  const answers = await Promise.all([
    fleet.ask('GET', '/api/v1/tool-metrics/tools', undefined, { url }),
    fleet.call('cut', {}, { url, headers: { 'idempotency-key': 'cut-first' } }),
  ]);
  const shown = answers.map(({ status, ms }) => `${status} after ${ms.toFixed(0)} ms`).join(', ');
  checks.check(
    answers.every(({ status, ms }) => status === 503 && ms <= within(1_000)),
    `the first read and the first call with a key there: ${shown} (503 within 1 s)`,
  );
}
