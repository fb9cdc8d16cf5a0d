import { answerCalls } from '../../common/worker-calls.js';
import { yamlToJson } from './yaml-documents.js';

answerCalls(yamlToJson);
