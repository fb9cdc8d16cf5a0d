import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../src/base/common/project.js';

/** The code of docs/agents/connect.md, each by words that stand in it alone. The first three need packages of the project alone. */
export const agentsPage = {
  mcp: '@modelcontextprotocol/sdk',
  openai: 'openai.chat.completions',
  find: 'found.tools',
  stateless: '@modelcontextprotocol/client',
  ai: '@ai-sdk/mcp',
  agents: '@openai/agents',
  langchain: '@langchain/mcp-adapters',
  anthropic: 'anthropic.messages',
  holmes: 'mcp_servers:',
  pythonOpenAi: "'format': 'openai'",
  pythonAnthropic: "'format': 'anthropic'",
  pydanticAi: 'pydantic_ai.mcp',
  pythonAgents: 'agents.mcp',
  pythonLangchain: 'langchain_mcp_adapters',
} as const;

/** Every block of code on a page of docs/agents. */
export function agentsPageBlocks(name = 'connect.md'): string[] {
  const page = readFileSync(join(projectRoot(), 'docs', 'agents', name), 'utf8');
  return [...page.matchAll(/```(?:ts|py|yaml)\n([\s\S]*?)```/g)].map(([, block = '']) => block);
}

export interface AroundThePage {
  /** http://127.0.0.1:<port> of the server that the page calls localhost:3000. */
  readonly url: string;
  readonly key: { readonly authorization: string };
  /** What the page takes for granted, such as a model. */
  readonly before?: string;
  /** What follows; it prints what the test looks at. */
  readonly after: string;
  /** The folder whose packages the code imports. */
  readonly folder?: string;
}

/** A block of the page, for the server at this address. */
export function agentsPageBlock(which: keyof typeof agentsPage, url: string): string {
  const block = agentsPageBlocks().find((text) => text.includes(agentsPage[which])) ?? '';
  return block.replaceAll('localhost:3000', new URL(url).host);
}

/** Runs a block of the page as it stands there, in a process of its own. @returns what was printed */
export const runAgentsPage = (which: keyof typeof agentsPage, around: AroundThePage): Promise<string> =>
  runBlock(agentsPageBlock(which, around.url), around);

export async function runBlock(
  text: string,
  { url, key, before = '', after, folder = projectRoot() }: AroundThePage,
): Promise<string> {
  // As globals: a block may declare one of them itself.
  const granted = {
    url,
    headers: key,
    requestInit: { headers: key },
    key: key.authorization.slice('Bearer '.length),
  };
  const code = `Object.assign(globalThis, ${JSON.stringify(granted)});\n${before}\n${text}\n${after}`;
  const args = ['--input-type=module', '--eval', code];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 100_000 });
  return stdout.trim();
}
