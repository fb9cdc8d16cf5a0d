import { resolve } from 'node:path';

/** For PLAYBOOKS_DIR. Reading and indexing the catalogue that ships is most of the work of a start: tests ask for it. */
export const shippedPlaybooks = resolve('playbooks');
export const noPlaybooks = resolve('test/support/none');
