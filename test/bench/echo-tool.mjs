/** The warm child of both sides: answers every line at once with its input. */
let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  let out = '';
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    const result = method === 'execute' ? params.input : handshake;
    out += `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`;
  }
  process.stdout.write(out);
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
