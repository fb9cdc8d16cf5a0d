import { AttributeLookup, type Attributes, fromJson, memberOf } from './attribute-lookup.js';

/** Events that are messages, by name, with the role of a message that has none. */
const roles = new Map([
  ['gen_ai.system.message', 'system'],
  ['gen_ai.user.message', 'user'],
  ['gen_ai.assistant.message', 'assistant'],
  ['gen_ai.tool.message', 'tool'],
]);
const choice = 'gen_ai.choice';

/** The attributes of a stored span, and as a fallback those of its events. */
export const storedLookup = (attributes: Attributes): AttributeLookup =>
  new AttributeLookup(attributes, eventLookup(attributes['events']));

/**
 * Reads what events say about their span in the words of attributes: their attributes of the first event that has them, and
 * messages.
 * @param events of OTLP, or the attribute `events` of Pydantic AI until version 1, whose members hold name and content
 */
export function eventLookup(events: unknown, next?: AttributeLookup): AttributeLookup | undefined {
  const list = fromJson(events);
  if (!Array.isArray(list) || list.length === 0) return next;
  const bodies = (list as unknown[]).map((event) => {
    const attributes = memberOf(event, 'attributes') ?? event;
    const name = memberOf(event, 'event.name') ?? memberOf(event, 'name');
    return { name: typeof name === 'string' ? name : '', attributes };
  });
  const others = bodies.filter(({ name }) => name !== choice && !roles.has(name)).reverse();
  const own = others.flatMap(({ attributes }) => Object.entries(attributes ?? {}));
  return new AttributeLookup({ ...messageAttributes(bodies), ...Object.fromEntries(own) }, next);
}

/** Names of today's convention, with the content that events of earlier ones have. */
function messageAttributes(events: readonly { name: string; attributes: unknown }[]): Attributes {
  const bodyOf = (attributes: unknown): object =>
    parsed(fromJson(memberOf(attributes, 'gen_ai.event.content')) ?? attributes);
  const said = events.filter(({ name }) => roles.has(name));
  const messages = said.map(({ name, attributes }) => ({ role: roles.get(name), ...bodyOf(attributes) }));
  const answers = events.filter(({ name }) => name === choice).map(({ attributes }) => bodyOf(attributes));
  const given = messages.find(({ role }) => role === 'tool');
  return {
    ...(messages.length > 0 && { 'gen_ai.input.messages': messages }),
    ...(given && { 'gen_ai.tool.call.arguments': memberOf(given, 'content') }),
    ...(answers.length > 0 && {
      'gen_ai.output.messages': answers.map(answerIn),
      'gen_ai.tool.call.result': memberOf(answers[0], 'message'),
    }),
  };
}

/** A choice has its message as a text, as parts, or whole. */
function answerIn(body: object): object {
  const message = memberOf(body, 'message');
  const whole = typeof message === 'object' && !Array.isArray(message) ? message : { content: message };
  return { role: 'assistant', ...body, message: undefined, ...whole };
}

/** Attributes hold lists as JSON in text. */
const parsed = (body: unknown): object =>
  Object.fromEntries(Object.entries(body ?? {}).map(([name, value]) => [name, fromJson(value)]));
