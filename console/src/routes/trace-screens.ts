/* One file for the browser, because a trace is opened from the list. */
export { TracePage } from '../features/trace/trace-page.js';
export { TracesPage } from '../features/traces/traces-page.js';
