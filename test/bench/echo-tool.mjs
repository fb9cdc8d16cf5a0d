/** The warm child of all sides: answers every line at once with its input, as a tool and as an MCP server. */
let kept = [];
process.stdin.on('data', (chunk) => {
  let out = '';
  let from = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
    const line =
      kept.length === 0 ? chunk.subarray(from, at) : Buffer.concat([...kept, chunk.subarray(from, at)]);
    kept = [];
    from = at + 1;
    const { id, method, params } = JSON.parse(line.toString());
    // A notification of MCP's.
    if (id === undefined) continue;
    const result = answers[method]?.(params) ?? {};
    out += `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`;
  }
  if (from < chunk.length) kept.push(chunk.subarray(from));
  if (out !== '') process.stdout.write(out);
});

const tool = {
  name: 'bench_echo',
  description: 'Answers with its input',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 100000 } },
    required: ['text'],
    additionalProperties: false,
  },
};
const serverInfo = { name: tool.name, version: '1.0.0' };
const answers = {
  execute: ({ input }) => input,
  /** MCP's revisions are dates. */
  initialize: ({ protocolVersion }) =>
    protocolVersion.startsWith('2')
      ? { protocolVersion, capabilities: { tools: {} }, serverInfo }
      : { ...tool, version: '1.0.0' },
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: input }) => ({ content: [], structuredContent: input }),
};
