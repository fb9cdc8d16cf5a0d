/**
 * The least that a client of a tool's process can be: pipes, lines of JSON, ids. No deadline, no limits, no back-pressure,
 * no death of the process: what the pool costs beyond it is what those cost.
 */

export class MinimalClient {
  #waiting = new Map();
  #kept = [];
  #lastId = 0;

  /** @param child as the pool's launcher starts it: over the same pipes */
  constructor(child) {
    this.child = child;
    child.on('spawn', () => child.stdout.on('data', (chunk) => this.#read(chunk)));
  }

  request(method, params) {
    return new Promise((resolve) => {
      const id = String(++this.#lastId);
      this.#waiting.set(id, resolve);
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }

  #read(chunk) {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      const end = chunk.subarray(from, at);
      const line = this.#kept.length === 0 ? end : Buffer.concat([...this.#kept, end]);
      this.#kept = [];
      from = at + 1;
      const { id, result } = JSON.parse(line.toString());
      const resolve = this.#waiting.get(id);
      this.#waiting.delete(id);
      resolve(result);
    }
    // The launcher reads everything into one buffer.
    if (from < chunk.length) this.#kept.push(Buffer.from(chunk.subarray(from)));
  }
}
