/* One file for the browser, because its screens are looked at together. */
export { SettingsFrame } from '../features/settings/settings-frame.js';
export { KeysTab } from '../features/settings/keys-tab.js';
export { AccountsTab } from '../features/settings/accounts-tab.js';
export { AuditTab } from '../features/settings/audit-tab.js';
export { AboutTab } from '../features/settings/about-tab.js';
