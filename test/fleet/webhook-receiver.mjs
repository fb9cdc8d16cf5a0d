import { once } from 'node:events';
import { createServer } from 'node:http';

/** Keeps the webhooks that came, and can leave them without an answer. */
export class WebhookReceiver {
  /** `{ id, type, tool, data, port }`: port is that of the sender's end of the connection. */
  seen = [];
  isHolding = false;
  held = [];

  static async open() {
    const receiver = new WebhookReceiver();
    receiver.server = createServer((request, answer) => receiver.take(request, answer));
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  /** Settings of servers that send to this receiver. */
  get variables() {
    return {
      WEBHOOK_URLS: `http://127.0.0.1:${this.server.address().port}/hook`,
      WEBHOOK_SECRET: 'a secret for webhooks',
      WEBHOOK_EVENTS: 'circuit.opened,circuit.closed',
    };
  }

  /** Answers what was held, and everything from now on. */
  release() {
    this.isHolding = false;
    for (const answer of this.held.splice(0)) answer.end();
  }

  async close() {
    this.release();
    this.server.closeAllConnections();
    this.server.close();
  }

  async take(request, answer) {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const { type, tool, data } = JSON.parse(text);
    this.seen.push({ id: request.headers['webhook-id'], type, tool, data, port: request.socket.remotePort });
    if (this.isHolding) this.held.push(answer);
    else answer.end();
  }
}
