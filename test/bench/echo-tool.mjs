/** The warm child of all sides: answers every line at once with its input. */
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
    const result = method === 'execute' ? params.input : handshake;
    out += `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`;
  }
  if (from < chunk.length) kept.push(chunk.subarray(from));
  if (out !== '') process.stdout.write(out);
});

const handshake = {
  name: 'bench_echo',
  description: 'Answers with its input',
  version: '1.0.0',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 100000 } },
    required: ['text'],
    additionalProperties: false,
  },
};
