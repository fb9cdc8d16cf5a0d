/* One file for the browser, because a trace is opened from the list. */
export { ComparePage } from '../features/trace/compare-page.js';
export { TracePage } from '../features/trace/trace-page.js';
export { TracesPage } from '../features/traces/traces-page.js';
