import { answerCalls } from '../../../base/common/worker-calls.js';
import { yamlToJson } from './yaml-documents.js';

// The thread of `readYaml` in playbook-import.service.ts.
answerCalls(yamlToJson);
