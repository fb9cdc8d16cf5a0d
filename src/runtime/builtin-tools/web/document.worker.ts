import { answerCalls } from '../../../base/common/worker-calls.js';
import { readDocument } from './document-text.js';

answerCalls(readDocument);
