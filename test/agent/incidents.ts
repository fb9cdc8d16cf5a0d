/** Two incidents for an agent: one that explains itself, and one that needs a playbook. */
export const simpleIncident =
  'The pod web-5c6d was restarted once after a node update; it runs and is ready again, no errors since.';

export const complexIncident =
  'Cascading failure in production: checkout runs into timeouts since payment answers slowly, retries pile up, and ' +
  'one after the other the services behind the gateway fail with high latency.';
