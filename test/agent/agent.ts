import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shippedPlaybooks } from '../support/playbooks-dir.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { complexIncident, simpleIncident } from './incidents.js';
import { Investigator, type Llm } from './investigator.js';

/** @returns the exit code */
export async function runAgent(variables: NodeJS.ProcessEnv): Promise<number> {
  const { LLM_BASE_URL: baseURL, LLM_MODEL: model, LLM_API_KEY: apiKey = 'none', TOOLKEEPER_URL } = variables;
  if (!baseURL || !model) {
    process.stderr.write(
      'Set LLM_BASE_URL (an OpenAI-compatible endpoint), LLM_MODEL and, if asked for, LLM_API_KEY.\n',
    );
    return 2;
  }
  if (TOOLKEEPER_URL) return investigateAll(TOOLKEEPER_URL, { baseURL, model, apiKey });
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-agent-'));
  let server: ServerProcess | undefined;
  try {
    server = await startServer({ TOOLKEEPER_DATA_DIR: folder, PLAYBOOKS_DIR: shippedPlaybooks });
    return await investigateAll(server.url, { baseURL, model, apiKey });
  } finally {
    await server?.end('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function investigateAll(toolkeeper: string, llm: Llm): Promise<number> {
  const investigator = new Investigator(toolkeeper, llm);
  const run = Date.now().toString(36);
  for (const [name, text] of Object.entries({ simple: simpleIncident, complex: complexIncident })) {
    const { toolUses, ...report } = await investigator.investigate({
      text,
      investigationId: `agent-${run}-${name}`,
      labels: { environment: 'production' },
    });
    print({ incident: name, ...report, tools: toolUses.map(({ tool, input }) => ({ tool, input })) });
  }
  return 0;
}

const print = (value: object): boolean => process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
