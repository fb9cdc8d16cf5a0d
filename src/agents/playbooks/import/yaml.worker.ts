import { answerCalls } from '../../../base/common/worker-calls.js';
import { yamlToJson } from './yaml-documents.js';

answerCalls(yamlToJson);
