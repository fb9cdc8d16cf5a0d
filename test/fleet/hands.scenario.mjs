import { until } from '../support/wait.ts';
import { counted, inTurn, times, within } from './check.mjs';

/** What an operator does at replica 1 holds for the next nine calls through the balancer. */
export async function hands({ fleet, checks }) {
  const [{ url }] = fleet.replicas;
  const act = async (method, path, body) => {
    const answer = await fleet.ask(method, path, body, { url });
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  };
  const nine = async (what, wanted, call) => {
    const said = await inTurn(9, async () => (await call()).said);
    checks.check(
      said.every((each) => each === wanted),
      `${what}: ${counted(said)} (nine ${wanted})`,
    );
  };
  await fleet.register('handled');
  await fleet.warm('handled');
  const plain = () => fleet.call('handled');
  const circuit = (action) =>
    act('POST', `/api/v1/tool-health/handled/circuit/${action}`, { reason: 'test' });
  for (const [action, wanted] of [
    ['open', 'circuit_open'],
    ['close', 'success'],
    ['open', 'circuit_open'],
    ['reset', 'success'],
  ]) {
    await circuit(action);
    await nine(`circuit ${action}`, wanted, plain);
  }
  await investigation({ fleet, act, nine });
  await act('POST', '/api/v1/custom-tools/handled/disable');
  await nine('disable', 'tool_not_found', plain);
  await act('POST', '/api/v1/custom-tools/handled/enable');
  const isEnabled = async () => (await inTurn(9, plain)).every(({ said }) => said === 'success');
  await until(isEnabled, { what: 'nine successes after enable' });
  await act('DELETE', '/api/v1/custom-tools/handled');
  await nine('delete', 'tool_not_found', plain);
  await revocation({ fleet, act, nine });
  await registrations({ fleet, checks });
  await changes({ fleet, checks, act });
}

async function investigation({ fleet, act, nine }) {
  const context = { investigationId: `raised-${Date.now()}` };
  const call = () => fleet.call('handled', {}, { context });
  await inTurn(12, call);
  await nine('a spent budget', 'investigation_budget_spent', call);
  await act('PATCH', `/api/v1/investigations/${context.investigationId}`, { tools: { handled: 19 } });
  await nine('raise by nine', 'success', call);
  await nine('and no more', 'investigation_budget_spent', call);
  await act('DELETE', `/api/v1/investigations/${context.investigationId}`);
  await nine('reset', 'success', call);
}

async function revocation({ fleet, act, nine }) {
  await fleet.register('opened');
  await fleet.warm('opened');
  const { body } = await act('POST', '/api/v1/keys', {
    name: 'test',
    owner: 'test',
    scopes: ['tools:call'],
  });
  const call = () => fleet.call('opened', {}, { headers: { authorization: `Bearer ${body.key}` } });
  const isKnown = async () => (await inTurn(9, call)).every(({ said }) => said === 'success');
  await until(isKnown, { what: 'the new key' });
  await act('DELETE', `/api/v1/keys/${body.id}`);
  await nine('revoke', 'unauthorized', call);
}

/** The next nine calls after each 201 succeed, whichever replica they reach. */
async function registrations({ fleet, checks }) {
  const said = [];
  for (const n of times(50)) {
    await fleet.register(`fresh_${n}`, { poolSize: 1 });
    const nine = await inTurn(9, async () => (await fleet.call(`fresh_${n}`)).said);
    const wrong = nine.filter((each) => each !== 'success');
    said.push(wrong.length === 0 ? 'callable' : counted(wrong));
    await fleet.ask('DELETE', `/api/v1/custom-tools/fresh_${n}`);
  }
  checks.check(
    said.every((each) => each === 'callable'),
    `50 registrations: ${counted(said)} (all callable at once everywhere)`,
  );
}

async function changes({ fleet, checks, act }) {
  await fleet.register('changed', { env: { ROUND: '0' } });
  await fleet.warm('changed');
  const slowest = [];
  for (const n of times(5)) {
    const round = String(n + 1);
    await act('PATCH', '/api/v1/custom-tools/changed', { env: { ROUND: round } });
    const began = performance.now();
    const elsewhere = fleet.replicas.slice(1).map(async ({ url }) => {
      const isNew = async () =>
        (await fleet.call('changed', { action: 'env' }, { url })).body.result?.ROUND === round;
      await until(isNew, { timeoutMs: 15_000, what: 'the change' });
      return performance.now() - began;
    });
    slowest.push(Math.max(...(await Promise.all(elsewhere))));
  }
  const shown = slowest.map((ms) => ms.toFixed(0)).join(', ');
  const most = within(500);
  checks.check(
    Math.max(...slowest) <= most,
    `PATCH in effect elsewhere after ${shown} ms (at most ${most.toFixed(0)})`,
  );
}
