/* One file for the browser, because its screens are looked at together. */
export { ToolFrame } from '../features/tool/tool-frame.js';
export { ActivityTab } from '../features/tool/activity-tab.js';
export { TryTab } from '../features/tool/try-tab.js';
export { ServerToolsTab } from '../features/tool/server-tools-tab.js';
export { LogsTab } from '../features/tool/logs-tab.js';
export { HealthTab } from '../features/tool/health-tab.js';
export { CircuitTab } from '../features/tool/circuit-tab.js';
export { RevisionsTab } from '../features/tool/revisions-tab.js';
export { SettingsTab } from '../features/tool/settings-tab.js';
