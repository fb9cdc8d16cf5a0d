/* One file for the browser, because its screens are looked at together. */
export { ExecutionsPage } from '../features/executions/executions-page.js';
export { ExecutionPage } from '../features/execution/execution-page.js';
export { ReplayPage } from '../features/replay/replay-page.js';
