import { makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';

export const webhookResults = 'toolkeeper_webhooks_total';
export const webhooksWaiting = 'toolkeeper_webhooks_waiting';

/** How webhooks arrive. */
export const webhookMetrics = [
  makeCounterProvider({
    name: webhookResults,
    help: 'Webhooks: delivered, tried again (retried), given up after all tries, dropped because too many waited',
    labelNames: ['result'],
  }),
  makeGaugeProvider({ name: webhooksWaiting, help: 'Webhooks that were not taken yet' }),
];
