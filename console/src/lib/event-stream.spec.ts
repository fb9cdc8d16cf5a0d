import { eventsOf } from './event-stream.js';

const bytes = new TextEncoder().encode(
  'id: a=1\n\n: hi\n\nid: a=2\nevent: log\ndata: {"a":"ü"}\n\ndata: one\ndata: two\n\nevent: cut\ndata: x',
);

it.each([1, 2, 7, 1_000])('reads events however they are cut: %s bytes at a time', async (size) => {
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.slice(at * size, (at + 1) * size),
  );
  const events = [];
  for await (const event of eventsOf(ReadableStream.from(pieces))) events.push(event);
  expect(events).toEqual([
    { event: 'message', data: '', id: 'a=1' },
    { event: 'log', data: '{"a":"ü"}', id: 'a=2' },
    { event: 'message', data: 'one\ntwo' },
  ]);
});
