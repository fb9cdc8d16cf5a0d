import { acceptsEvents, sseEvent } from './sse.js';

describe('sseEvent', () => {
  it('is one event, whatever line breaks the data hold', () => {
    expect(sseEvent({ id: '7', event: 'log', data: { a: 'x\r\ny\n\nz\u2028' } })).toBe(
      'id: 7\nevent: log\ndata: {"a":"x\\r\\ny\\n\\nz\u2028"}\n\n',
    );
    expect(sseEvent({ data: null })).toBe('data: null\n\n');
  });
});

it.each([
  ['text/event-stream', true],
  ['Text/Event-Stream; charset=utf-8', true],
  ['text/event-stream, application/json', true],
  ['text/event-stream;q=0.9, */*;q=0.1', true],
  ['application/json;q=0.5, text/event-stream', true],
  ['application/json, text/event-stream', false],
  ['application/json, text/event-stream;q=0.5', false],
  ['text/event-stream;q=0', false],
  ['text/event-stream;q=x', false],
  ['text/event-streams', false],
  ['application/json', false],
  ['*/*', false],
  ['', false],
  [undefined, false],
])('Accept: %s asks for events: %s', (accept, wanted) => expect(acceptsEvents({ accept })).toBe(wanted));
