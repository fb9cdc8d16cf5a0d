/**
 * Loaded into MCP's conformance suite: its servers listen at the ports in SUITE_PORTS, one after the other, instead of any free
 * ones. An operator names a private authorization server with its port, so the ports are known before.
 */
import { Server } from 'node:net';

const ports = process.env.SUITE_PORTS.split(' ').map(Number);
const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...others) {
  return listen.call(this, port === 0 ? ports.shift() : port, ...others);
};
