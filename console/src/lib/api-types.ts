/** The types of the generated client, for code that also runs without a browser. */
export type * from '../../../client/index.js';
