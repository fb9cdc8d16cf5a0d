import { quoted } from '../common/quoted.js';
import type { CallAnswer } from './tool-door.js';

/**
 * The JSON of an answer's outcome. A result that its tool wrote as JSON is passed on as it stands: to write a large one
 * again would take as long as everything else that is done for its call.
 */
export function answerJson({ outcome, resultJson }: CallAnswer): string {
  if (resultJson === undefined) return JSON.stringify(outcome);
  const { executionId, tool, executionTimeMs, attempts, cached, status } = outcome;
  return (
    `{"executionId":"${executionId}","tool":${quoted(tool)},"executionTimeMs":${executionTimeMs},` +
    `"attempts":${attempts},"cached":${cached},"status":"${status}","result":${resultJson}}`
  );
}
