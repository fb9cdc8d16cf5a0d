/* One file for the browser, because its screens are looked at together. */
export { RegisterPage } from '../features/register/register-page.js';
export { EditPage as EditToolPage } from '../features/register/edit-page.js';
