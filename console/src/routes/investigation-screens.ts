/* One file for the browser, because its screens are looked at together. */
export { InvestigationsPage } from '../features/investigations/investigations-page.js';
export { InvestigationPage } from '../features/investigation/investigation-page.js';
