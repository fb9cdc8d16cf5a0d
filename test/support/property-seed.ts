import { configureGlobal, readConfigureGlobal } from 'fast-check';

/**
 * Property tests draw the same cases at every run, so that a change is judged by what it changed.
 * PROPERTY_SEED=<whole number> draws others.
 */
const seed = Number(process.env['PROPERTY_SEED'] ?? 20_779);
if (!Number.isSafeInteger(seed)) throw new Error('PROPERTY_SEED must be a whole number');
configureGlobal({ ...readConfigureGlobal(), seed });
