import { withoutNulls } from '../../base/common/json.js';
import type { CircuitsService } from '../../call/circuits/circuits.service.js';
import type { ToolHealthNowView, ToolNowView } from '../../insight/tool-health/tool-health.dto.js';
import type { ToolHealthService } from '../../insight/tool-health/tool-health.service.js';
import type { Tool } from '../../web/contract/tool.js';
import { type InProject, readerOf, readsExecutions } from './execution-tools.js';
import { withinBytes } from './small-answers.js';
import { maxBytes, traceTool } from './trace-tool.js';

/** Max kinds of errors in an answer about one tool. */
const maxErrorPatterns = 5;
/** Max tools in an answer about all tools. */
const maxTools = 20;

/** Reports the health of one tool, or the tools that need attention, worst first. */
export const getToolHealthTool = (health: ToolHealthService, circuits: CircuitsService): Tool =>
  traceTool<InProject & { readonly tool?: string }>({
    ...readsExecutions,
    name: 'get_tool_health',
    description:
      'Get the health of a tool: its grade, how it is doing now, its last error, its circuit and what to do. Without a tool: the tools that are failing, recovering or need attention, the worst first.',
    properties: { tool: { type: 'string', maxLength: 256, description: 'The tool; all when absent' } },
    answer: async ({ tool, ...query }, _project, { principal }) => {
      const visible = health.within(readerOf(principal, query));
      const found = await (tool === undefined ? attentionList(visible) : healthOf(visible, circuits, tool));
      return withinBytes(withoutNulls(found) as object, maxBytes);
    },
  });

async function healthOf(health: ToolHealthService, circuits: CircuitsService, tool: string): Promise<object> {
  const [report, { shouldBreak }, { messages: errors }, circuit] = await Promise.all([
    health.reportTool(tool),
    circuits.advice(tool, {}),
    health.getErrorPatterns(tool, maxErrorPatterns),
    circuits.circuitOf(tool, 1).catch(() => 'none: no tool of this name is registered'),
  ]);
  return { ...shown(report), errors, circuit, shouldBreak };
}

/** The tools that are failing, recovering, graded badly or have a circuit. */
async function attentionList(health: ToolHealthService): Promise<object> {
  const { status, summary, toolReports, circuits } = await health.checkAllToolsHealth();
  const states = new Map(circuits.map(({ tool, state }) => [tool, state]));
  const needingAttention = toolReports
    .map((report) => ({ ...shown(report), circuit: states.get(report.toolName) }))
    .filter(({ status: grade, now: { failingSince, recoveringSince }, circuit }) => {
      const isGradedBadly = grade === 'degraded' || grade === 'unhealthy';
      return isGradedBadly || failingSince !== null || recoveringSince !== null || circuit !== undefined;
    })
    .sort(({ now: a }, { now: b }) => failingFirst(a) - failingFirst(b) || b.failures - a.failures);
  const tools = needingAttention.slice(0, maxTools);
  return { status, summary, needAttention: needingAttention.length, tools };
}

/** Sort key: tools that are failing now come first. */
const failingFirst = ({ failingSince }: ToolNowView): number => (failingSince === null ? 1 : 0);

/** Members of a report that a model can use. */
function shown({ toolName: tool, status, why, now, issues, recommendations, ...hour }: ToolHealthNowView) {
  const { totalCalls, recentErrors, successRate, avgLatencyMs, p95LatencyMs, semanticFailures } = hour;
  const lastHour = { totalCalls, recentErrors, successRate, avgLatencyMs, p95LatencyMs, semanticFailures };
  const since = why.find((reason) => reason.since !== null)?.since;
  return { tool, status, since, now, issues, recommendations, lastHour };
}
