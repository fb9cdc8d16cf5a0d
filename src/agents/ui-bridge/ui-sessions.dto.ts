import {
  uuid,
  Example,
  AnyObject,
  AnyText,
  Flag,
  FreeJson,
  OneOf,
  OptionalNested,
  Text,
  TextList,
} from '../../web/rest/dto.js';

export class UiSessionView {
  @Example('uis_m3k0Zb0mQyWq1TtJ6l3x9A') readonly id!: string;
}

export class UiSessionParams {
  @Text(64, { example: 'uis_m3k0Zb0mQyWq1TtJ6l3x9A' }) readonly id!: string;
}

export class UiAnswerParams extends UiSessionParams {
  @Text(36, {
    pattern: uuid,
    example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
    description: "The execution's id",
  })
  readonly callId!: string;
}

/** `caller`: another key that asked to act on the page. */
export class UiGrantParams extends UiSessionParams {
  @Text(128, { example: 'q1w2e3r4t5', description: "The key's id, or `anonymous`" }) readonly caller!: string;
}

/** The present content of a tab, and the tools that it provides. */
export class UiPageBody {
  @Text(2_048, { example: '/traces/4bf92f3577b34da6a3ce929d0e0e4736', description: 'Its address' })
  readonly route!: string;
  @TextList({
    maxItems: 64,
    maxLength: 64,
    example: ['navigate_to', 'highlight_spans'],
    description: 'Names of the tools that the page provides now',
  })
  readonly offers!: string[];
  @AnyObject({
    example: { title: 'Trace', params: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736' } },
    description: 'Facts about the page for agents, up to 16 KiB',
  })
  readonly context!: Record<string, unknown>;
}

/** Types of failures that a page may report. */
export const pageErrorTypes = ['tool_error', 'interrupted'] as const;

/** The error of a call that the page could not answer. */
class UiErrorBody {
  @OneOf(pageErrorTypes, { description: '`interrupted`: the page was reloaded after it had begun' })
  readonly type!: (typeof pageErrorTypes)[number];
  @AnyText({ maxLength: 4_096, example: 'The experiment is running' }) readonly message!: string;
}

/** A page's answer to a call: a result, or an error. */
export class UiAnswerBody {
  @Flag({ example: true }) readonly ok!: boolean;
  @FreeJson({ required: false, example: { success: true }, description: 'Result of a call, if any' })
  readonly result?: unknown;
  @OptionalNested(UiErrorBody, { description: 'If the call failed' })
  readonly error?: UiErrorBody;
}
