/** One event of a stream. */
export interface StreamEvent {
  readonly event: string;
  /** Empty if the event only carries a position. */
  readonly data: string;
  /** Position in the stream from which to resume after a disconnect, if the event has one. */
  readonly id?: string;
}

/** Reads events from a response, because the browser's EventSource can only send GET without headers. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
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
  } finally {
    // Closes the connection if the reader stops early.
    await reader.cancel().catch(() => undefined);
  }
}

function eventIn(block: string): StreamEvent | undefined {
  const lines = block.split('\n');
  const all = (field: string): string[] =>
    lines
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
  const data = all('data');
  const id = all('id').at(-1);
  if (data.length === 0 && id === undefined) return undefined;
  const event = all('event').at(-1) ?? 'message';
  return { event, data: data.join('\n'), ...(id !== undefined && { id }) };
}
