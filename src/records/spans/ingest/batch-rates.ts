import { Injectable } from '@nestjs/common';
import { CallRates } from '../../../auth/call-rates.js';

/** A key's rate holds for its batches of spans as well; they are counted apart from its calls. */
@Injectable()
export class BatchRates extends CallRates {}
