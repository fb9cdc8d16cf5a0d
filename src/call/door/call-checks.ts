import { Inject, Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { keyNeededFor } from '../../web/auth/access-policy.js';
import { CallRates, holderOf } from '../../web/auth/call-rates.js';
import { foreignProject } from '../../web/auth/principal.decorator.js';
import { type FieldProblem, Refusal } from '../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import type { Tool } from '../../web/contract/tool.js';
import { mayName, needsKey } from '../../web/contract/principal.js';
import type { CallRequest } from '../../web/contract/tool-call.js';
import { refuseOversized } from '../../base/schemas/input-validator.js';
import type { Verdict } from '../../base/schemas/schema-repair.js';

/** Size of an input from which the event loop gets a turn between two passes over it. */
const oneTurnBytes = 65_536;

/** Checks that run before budget or slots are reserved; a failure here costs nothing. They return a promise only if they wait. */
@Injectable()
export class CallChecks {
  constructor(
    private readonly rates: CallRates,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'toolInput'>,
  ) {}

  /** Checks the caller's rights and rate. @throws Refusal `forbidden`, even if there is no such tool; `rate_limited` */
  checkCaller(request: CallRequest): Promise<void> | undefined {
    const { principal, tool: name, context } = request;
    if (!principal.scopes.has('tools:call'))
      throw new Refusal('forbidden', 'Calling tools needs the scope tools:call');
    if (!mayName(principal, name))
      throw new Refusal('forbidden', `This key may not call ${JSON.stringify(name)}`);
    const foreign = foreignProject(principal, context.projectId);
    if (foreign !== undefined) throw new Refusal('forbidden', foreign);
    return request.queued || request.asks?.round ? undefined : this.rates.count(request);
  }

  /**
   * Checks the input and the further needs of the tool.
   * @returns the call with a valid input
   * @throws Refusal `payload_too_large`, `invalid_input` that names all invalid fields, `forbidden` by the tool's own rule,
   *   `unauthorized` without a key, or that of a further need
   */
  checkInput(tool: Tool, request: CallRequest): CallRequest | Promise<CallRequest> {
    const validated = this.validateInput(tool, request);
    if (!tool.admit) return validated;
    return Promise.resolve(validated).then(async (call) => {
      await tool.admit?.(call);
      return call;
    });
  }

  /** Like `checkInput`, without the further needs of the tool. */
  validateInput(tool: Tool, request: CallRequest): CallRequest | Promise<CallRequest> {
    if (needsKey(request.principal, tool.definition)) throw keyNeededFor(tool.definition.name);
    if ((request.bytesAtMost ?? Infinity) > oneTurnBytes) return this.validateLargeInput(tool, request);
    const verdict = tool.validate(
      request.input,
      refuseOversized(request, this.config.toolInput),
      holderOf(request),
    );
    if (verdict instanceof Promise) return verdict.then((late) => this.applyVerdict(tool, request, late));
    return this.applyVerdict(tool, request, verdict);
  }

  /** Validates an input in several turns of the event loop, so that other calls go on meanwhile. */
  private async validateLargeInput(tool: Tool, request: CallRequest): Promise<CallRequest> {
    await nextTurn();
    const bytes = refuseOversized(request, this.config.toolInput);
    await nextTurn();
    const verdict = await tool.validate(request.input, bytes, holderOf(request));
    const call = await this.applyVerdict(tool, request, verdict);
    await nextTurn();
    return call;
  }

  /** Goes on after the tool's schema has judged the input. @throws Refusal if it is invalid or the tool refuses it */
  private applyVerdict(
    tool: Tool,
    request: CallRequest,
    verdict: Verdict,
  ): CallRequest | Promise<CallRequest> {
    if ('repaired' in verdict) {
      const call = { ...request, input: verdict.repaired };
      // A text that was parsed as JSON may be nested.
      refuseOversized({ input: call.input }, this.config.toolInput);
      return this.applyVerdict(tool, call, []);
    }
    if (verdict.length > 0) throw invalidInput(verdict);
    const reason = tool.refuses?.(request.input, request.principal);
    if (reason !== undefined) throw new Refusal('forbidden', reason);
    return request;
  }
}

/** The refusal that names all invalid fields. */
function invalidInput(problems: readonly FieldProblem[]): Refusal {
  const errors = problems.map(({ pointer, detail }) => ({ pointer: `/input${pointer}`, detail }));
  const detail = errors.map((error) => `${error.pointer.slice(1)} ${error.detail}`).join('; ');
  return new Refusal('invalid_input', detail, { errors });
}
