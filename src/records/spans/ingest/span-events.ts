import { AttributeLookup, type Attributes, fromJson, memberOf } from './attribute-lookup.js';

/** Names of events that are messages, with the role of the message if its body has none. */
const roles = new Map([
  ['gen_ai.system.message', 'system'],
  ['gen_ai.user.message', 'user'],
  ['gen_ai.assistant.message', 'assistant'],
  ['gen_ai.tool.message', 'tool'],
]);
/** Name of events that are answers of a model. */
const choice = 'gen_ai.choice';

/** Looks up fields in the attributes of a stored span, then in those of its events. */
export const storedLookup = (attributes: Attributes): AttributeLookup =>
  new AttributeLookup(attributes, eventLookup(attributes['events']));

/**
 * Looks up fields in a span's events: messages as the attributes of today's convention; of each other attribute, the value
 * in the first event that has it.
 * @param events events of OTLP; or the attribute `events` of Pydantic AI before version 1, whose members are the bodies
 * @param fallback lookup for what no event has
 */
export function eventLookup(events: unknown, fallback?: AttributeLookup): AttributeLookup | undefined {
  const list = fromJson(events);
  if (!Array.isArray(list) || list.length === 0) return fallback;
  const bodies = (list as unknown[]).map((event) => {
    const attributes = memberOf(event, 'attributes') ?? event;
    const name = memberOf(event, 'event.name') ?? memberOf(event, 'name');
    return { name: typeof name === 'string' ? name : '', attributes };
  });
  // Reversed, because the last entry of a name wins in `fromEntries`.
  const others = bodies.filter(({ name }) => name !== choice && !roles.has(name)).reverse();
  const entries = others.flatMap(({ attributes }) => Object.entries(attributes ?? {}));
  return new AttributeLookup({ ...messageAttributes(bodies), ...Object.fromEntries(entries) }, fallback);
}

/** Messages and answers in events of earlier conventions, as the attributes that today's convention has for them. */
function messageAttributes(events: readonly { name: string; attributes: unknown }[]): Attributes {
  const bodyOf = (attributes: unknown): object =>
    parsed(fromJson(memberOf(attributes, 'gen_ai.event.content')) ?? attributes);
  const messageEvents = events.filter(({ name }) => roles.has(name));
  const messages = messageEvents.map(({ name, attributes }) => ({
    role: roles.get(name),
    ...bodyOf(attributes),
  }));
  const answers = events.filter(({ name }) => name === choice).map(({ attributes }) => bodyOf(attributes));
  // In the span of a tool call, the message of the tool is its arguments, and the choice is its result.
  const toolMessage = messages.find(({ role }) => role === 'tool');
  return {
    ...(messages.length > 0 && { 'gen_ai.input.messages': messages }),
    ...(toolMessage && { 'gen_ai.tool.call.arguments': memberOf(toolMessage, 'content') }),
    ...(answers.length > 0 && {
      'gen_ai.output.messages': answers.map(answerIn),
      'gen_ai.tool.call.result': memberOf(answers[0], 'message'),
    }),
  };
}

/** The answer in the body of a choice, whose `message` is a text, a list of parts, or a whole message. */
function answerIn(body: object): object {
  const message = memberOf(body, 'message');
  const whole = typeof message === 'object' && !Array.isArray(message) ? message : { content: message };
  return { role: 'assistant', ...body, message: undefined, ...whole };
}

/** A body with its members parsed: attributes hold objects and lists as JSON in a text. */
const parsed = (body: unknown): object =>
  Object.fromEntries(Object.entries(body ?? {}).map(([name, value]) => [name, fromJson(value)]));
