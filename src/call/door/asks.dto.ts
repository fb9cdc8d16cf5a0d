import type { JsonObject } from '../../base/common/json.js';
import { AnyObject, Example, OneOf, OneOfThese, OptionalObject } from '../../web/rest/dto.js';

/** The answer to a call whose tool asks its caller. */
export class QuestionsView {
  @Example('019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f') readonly executionId!: string;
  @OneOfThese(['input_required'], 'input_required') readonly status!: 'input_required';
  @AnyObject({
    example: { amount: { method: 'elicitation/create', params: { message: 'How many?' } } },
    description: 'The questions by name. Each is a request of MCP, such as `elicitation/create`',
  })
  readonly inputRequests!: object;
  @Example(
    'Yx0…',
    'Repeat the call within 10 minutes, with this and with `inputResponses`: an answer for each name',
  )
  readonly requestState!: string;
}

const actions = ['accept', 'decline', 'cancel'] as const;

/** The answer to one question that came as an event on a call's stream. */
export class QuestionAnswer {
  @OneOf(actions, { description: 'What the person did' }) readonly action!: (typeof actions)[number];
  @OptionalObject({ amount: 3 }, 'The members of the form')
  readonly content?: object;
}

/** The answers to the questions of an asynchronous execution. */
export class ExecutionAnswers {
  @AnyObject({
    example: { amount: { action: 'accept', content: { amount: 3 } } },
    description: 'Answers by the names of their questions',
  })
  readonly inputResponses!: JsonObject;
}
