import type { Removal } from '../../lib/playbook-standing.js';

/** An author's next step, by what kept the playbook out. */
const steps: Readonly<Record<Removal, string>> = {
  status: 'Enable its latest version, or save a new one. If it was taken out on purpose, leave it.',
  label:
    'If it is meant for this situation as well, let the label allow it, or “*”. If not, it is rightly left out.',
  no_match: 'Add what the incident shows to its signals, and what people call it to its aliases.',
  threshold: 'Add the words that it lacks to its signals or aliases.',
  limit: 'It is found, and others fit better. Signals that stand whole in the query bring it forward.',
};

export const whatToChange = (removedBy: Removal | null): string =>
  removedBy === null ? 'Nothing: it is shown.' : steps[removedBy];
