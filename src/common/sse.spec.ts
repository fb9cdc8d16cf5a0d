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
  ['application/json, text/event-stream;q=0.9', true],
  ['*/*', false],
  ['text/event-streams', false],
  [undefined, false],
])('Accept: %s asks for events: %s', (accept, wanted) => expect(acceptsEvents({ accept })).toBe(wanted));
