export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** The events of an answer that is a stream of them, as they come. The browser's own reader only sends GET. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    rest += decoder.decode(value, { stream: !done });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = eventIn(block);
      if (event) yield event;
    }
    if (done) return;
  }
}

function eventIn(block: string): StreamEvent | undefined {
  const lines = block.split('\n');
  const all = (field: string): string[] =>
    lines
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
  const data = all('data');
  return data.length === 0 ? undefined : { event: all('event').at(-1) ?? 'message', data: data.join('\n') };
}
