/* One file for the browser, because its screens are looked at together. */
export { PlaybooksPage } from '../features/playbooks/playbooks-page.js';
export { EditPlaybookPage, NewPlaybookPage } from '../features/playbook-editor/edit-page.js';
export { PlaybookFrame } from '../features/playbook/playbook-frame.js';
export { PlaybookTab } from '../features/playbook/playbook-tab.js';
export { VersionsTab } from '../features/playbook/versions-tab.js';
