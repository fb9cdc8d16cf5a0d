import { Buffer } from 'node:buffer';
import { Inject, Injectable } from '@nestjs/common';
import { Refusal } from '../common/errors.js';
import { isDeeperThan } from '../common/json-depth.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import type { CallRequest } from '../tool-contract/tool-call.js';

/** Caps on an input's bytes and depth, checked before its schema. */
@Injectable()
export class InputLimits {
  private readonly maxBytes: number;
  private readonly maxDepth: number;

  constructor(@Inject(APP_CONFIG) config: AppConfig) {
    this.maxBytes = config.toolInput.maxBytes;
    this.maxDepth = config.toolInput.maxDepth;
  }

  /** @throws Refusal `payload_too_large` or `invalid_input`, naming the variable that raises the limit */
  check({ input, bytesAtMost }: CallRequest): void {
    const { maxBytes, maxDepth } = this;
    // Only an input that may be over the cap is measured. Written anew it may have grown: 1e20 becomes 21 digits.
    if (bytesAtMost === undefined || bytesAtMost * 6 > maxBytes) {
      const bytes = Buffer.byteLength(JSON.stringify(input) ?? '');
      if (bytes > maxBytes) {
        const detail = `input is ${bytes} bytes, the cap is ${maxBytes} (TOOL_INPUT_MAX_BYTES)`;
        throw new Refusal('payload_too_large', detail, { errors: [{ pointer: '/input', detail }] });
      }
    }
    // Each level takes two bytes: what is short is not looked through.
    if ((bytesAtMost ?? Infinity) > 2 * maxDepth && isDeeperThan(input, maxDepth)) {
      const detail = `input is nested deeper than ${maxDepth} levels (TOOL_INPUT_MAX_DEPTH)`;
      throw new Refusal('invalid_input', detail, { errors: [{ pointer: '/input', detail }] });
    }
  }
}
