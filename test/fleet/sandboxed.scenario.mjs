import { counted } from './check.mjs';
import { hands } from './hands.scenario.mjs';

/** The scenario `hands` with the sandbox as it is by default. */
export async function sandboxed({ checks, started }) {
  const fleet = await started({ variables: { SANDBOX: 'enforce' } });
  const { body } = await fleet.ask('GET', '/api/v1/replicas');
  const tiers = body.data.map(({ tier }) => tier);
  checks.check(
    tiers.every((tier) => tier > 0),
    `sandbox: ${counted(tiers.map((tier) => `tier ${tier}`))} (above 0)`,
  );
  await hands({ fleet, checks });
}
