/** MCP's conformance suite through two servers in a row. */
import './conformance.mjs?chain';
