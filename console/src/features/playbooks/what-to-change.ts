import type { Removal } from '../../lib/playbook-standing.js';

/** An author's next step, by what kept the playbook out. */
const steps: Readonly<Record<Removal, string>> = {
  status:
    'Enable its latest version, or save a new one. If it was taken out of the search on purpose, change nothing.',
  label: 'If it fits this situation, add the value to its label, or use “*”. If not, change nothing.',
  no_match: 'Add what the incident shows to its signals, and what people call it to its aliases.',
  threshold: 'Add the words that it lacks to its signals or aliases.',
  limit: 'It matches, but others match better. Signals that the query contains in full raise its rank.',
};

export const whatToChange = (removedBy: Removal | null): string =>
  removedBy === null ? 'Nothing: it is shown.' : steps[removedBy];
