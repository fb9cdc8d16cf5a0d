/* One file for the browser, because its screens are looked at together. */
export { PlaybooksPage } from '../features/playbooks/playbooks-page.js';
export { NewPlaybookPage } from '../features/playbook-editor/new-page.js';
export { EditPage as EditPlaybookPage } from '../features/playbook-editor/edit-page.js';
export { PlaybookFrame } from '../features/playbook/playbook-frame.js';
export { PlaybookTab } from '../features/playbook/playbook-tab.js';
export { VersionsTab } from '../features/playbook/versions-tab.js';
