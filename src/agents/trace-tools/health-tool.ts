import { withoutNulls } from '../../base/common/json.js';
import type { CircuitsService } from '../../call/circuits/circuits.service.js';
import type { ToolHealthNowView, ToolNowView } from '../../insight/tool-health/tool-health.dto.js';
import type { ToolHealthService } from '../../insight/tool-health/tool-health.service.js';
import type { Tool } from '../../web/contract/tool.js';
import { type InProject, readerOf, readsExecutions } from './execution-tools.js';
import { withinBytes } from './small-answers.js';
import { maxBytes, traceTool } from './trace-tool.js';

/** Reports how one tool is doing, or which tools need attention. */
export const getToolHealth = (health: ToolHealthService, circuits: CircuitsService): Tool =>
  traceTool<InProject & { readonly tool?: string }>({
    ...readsExecutions,
    name: 'get_tool_health',
    description:
      'Get the health of a tool: its grade, how it is doing now, its last error, its circuit and what to do. Without a tool: the tools that are failing, recovering or need attention, the worst first.',
    properties: { tool: { type: 'string', maxLength: 256, description: 'The tool; all when absent' } },
    answer: async ({ tool, ...query }, _, { principal }) => {
      const own = health.within(readerOf(principal, query));
      const found = await (tool === undefined ? ofAll(own) : ofOne(own, circuits, tool));
      return withinBytes(withoutNulls(found) as object, maxBytes - 64);
    },
  });

async function ofOne(health: ToolHealthService, circuits: CircuitsService, tool: string): Promise<object> {
  const [report, { shouldBreak }, { messages: errors }, circuit] = await Promise.all([
    health.reportTool(tool),
    circuits.advice(tool, {}),
    health.getErrorPatterns(tool, 5),
    circuits.circuitOf(tool, 1).catch(() => 'none: no tool of this name is registered'),
  ]);
  return { ...shown(report), errors, circuit, shouldBreak };
}

async function ofAll(health: ToolHealthService): Promise<object> {
  const { status, summary, toolReports, circuits } = await health.checkAllToolsHealth();
  const states = new Map(circuits.map(({ tool, state }) => [tool, state]));
  const needing = toolReports
    .map((report) => ({ ...shown(report), circuit: states.get(report.toolName) }))
    .filter(({ status: grade, now: { failingSince, recoveringSince }, circuit }) =>
      [/degraded|unhealthy/.test(grade), failingSince, recoveringSince, circuit].some(Boolean),
    )
    .sort(({ now: a }, { now: b }) => isFailing(b) - isFailing(a) || b.failures - a.failures);
  return { status, summary, needAttention: needing.length, tools: needing.slice(0, 20) };
}

const isFailing = ({ failingSince }: ToolNowView): number => (failingSince === null ? 0 : 1);

/** Members of a report that a model can use. */
function shown({ toolName: tool, status, why, now, issues, recommendations, ...hour }: ToolHealthNowView) {
  const { totalCalls, recentErrors, successRate, avgLatencyMs, p95LatencyMs, semanticFailures } = hour;
  const lastHour = { totalCalls, recentErrors, successRate, avgLatencyMs, p95LatencyMs, semanticFailures };
  return {
    tool,
    status,
    since: why.find(({ since }) => since)?.since,
    now,
    issues,
    recommendations,
    lastHour,
  };
}
