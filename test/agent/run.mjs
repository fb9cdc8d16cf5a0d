/**
 * `npm run agent`: two investigations by a real model. LLM_BASE_URL (OpenAI-compatible), LLM_MODEL and LLM_API_KEY say
 * which; TOOLKEEPER_URL names a running server, else one is started for it, with its database in a temporary folder.
 */
import '../support/typescript.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { runAgent } = await import('./agent.ts');
process.exitCode = await runAgent(process.env);
