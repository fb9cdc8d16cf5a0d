/* One file for the browser, because an experiment is opened from the list. */
export { ExperimentPage, NewExperimentPage } from '../features/experiments/experiment-page.js';
export { ExperimentsPage } from '../features/experiments/experiments-page.js';
