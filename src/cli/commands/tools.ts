import {
  disableCustomTool,
  enableCustomTool,
  getCircuit,
  getCustomToolHealth,
  getHealthOfAllTools,
  getTool,
  getToolHealth,
  listCustomToolRevisions,
  listCustomTools,
  listTools,
  removeCustomTool,
  rollBackCustomTool,
} from '../../../client/sdk.gen.js';
import type {
  CustomToolView,
  SystemHealthView,
  ToolReportView,
  ToolView,
} from '../../../client/types.gen.js';
import { allOf, ask, type Session } from '../api.js';
import { CliError, codeOf } from '../output.js';

/** A tool in the answer of `tool list`. */
interface ListedTool {
  readonly name: string;
  readonly kind: string;
  readonly version: string;
  readonly status: string;
  /** Health as reported by the executable. */
  readonly healthStatus?: string;
  /** Health by its calls; absent for keys without `metrics:read`. */
  readonly health?: string;
  readonly description: string;
  readonly errorMessage?: string;
}

/** Prints all tools: those that can be called, and custom tools that cannot. */
export async function list({ client, out }: Session, words?: string): Promise<void> {
  const callable = (await allOf((page) =>
    ask(listTools({ client, query: { ...page, ...(words && { query: words }) } })),
  )) as ToolView[];
  const custom = await allOf((query) => ask(listCustomTools({ client, query })));
  const customByName = new Map(custom.map((tool) => [tool.name, tool]));
  const callableNames = new Set(callable.map(({ name }) => name));
  const matches = ({ name, description }: CustomToolView): boolean =>
    !words || `${name} ${description}`.toLowerCase().includes(words.toLowerCase());
  const uncallable = custom.filter((tool) => !callableNames.has(tool.name) && matches(tool));
  const systemHealth = await ask(getHealthOfAllTools({ client })).catch(undefinedIf('forbidden'));
  const listed = [...callable, ...uncallable.map((tool) => ({ ...tool, kind: 'custom' }))]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, kind, version, description }): ListedTool => {
      const state = { status: 'active', ...stateOf(customByName.get(name)), ...healthIn(systemHealth, name) };
      return { name, kind, version, description, ...state };
    });
  out.answer(listed, () =>
    out.table(['NAME', 'KIND', 'STATUS', 'HEALTH', 'VERSION', 'DESCRIPTION'], listed.map(rowOf)),
  );
}

function rowOf(tool: ListedTool): string[] {
  const text = oneLine(tool.errorMessage ?? tool.description);
  return [tool.name, tool.kind, tool.status, tool.health ?? '', tool.version, text];
}

/** Handles an error: a problem with this code gives undefined. @throws other errors */
const undefinedIf =
  (code: string) =>
  (error: unknown): undefined => {
    if (codeOf(error) !== code) throw error;
  };

/** The status of a custom tool and its processes; empty for other tools. */
function stateOf(tool: CustomToolView | undefined): Partial<ListedTool> {
  if (!tool) return {};
  const { status, healthStatus, errorMessage } = tool;
  return { status, healthStatus, ...(errorMessage !== null && { errorMessage }) };
}

/** The health of a tool as the console shows it: failing, recovering or its grade, and the circuit unless it is closed. */
function healthIn(health: SystemHealthView | undefined, tool: string): Partial<ListedTool> {
  const report = health?.toolReports.find(({ toolName }) => toolName === tool);
  if (!health || !report) return {};
  const circuit = health.circuits.find((each) => each.tool === tool)?.state ?? 'closed';
  const parts = [report.unavailable ? '' : howNow(report), circuit === 'closed' ? '' : `circuit ${circuit}`];
  return {
    health: parts.filter(Boolean).join(', ').replace('_', '-'),
    ...(report.unavailable?.state === 'held' && { status: 'held' }),
  };
}

/** The part of a report that says how a tool is doing now. */
type Condition = Pick<ToolReportView, 'status' | 'now'>;

/** A short text for the list: failing, recovering or the grade. */
function howNow({ status, now }: Condition): string {
  if (now.failingSince !== null) return 'failing now';
  if (now.recoveringSince !== null && status !== 'healthy') return 'recovering';
  return status === 'unknown' ? 'not graded' : status;
}

/** A sentence about a tool that fails or recovers, with its error; undefined for others. */
function trendOf({ status, now }: Condition): string | undefined {
  const { failingSince, recoveringSince, callsSince, failuresSince, lastError } = now;
  const error = oneLine(lastError?.message ?? lastError?.errorType ?? 'unknown');
  if (failingSince !== null)
    return `${percent(failuresSince / (callsSince || 1))} of ${callsSince} calls failing since ${failingSince}, error: ${error}`;
  if (recoveringSince === null || status === 'healthy') return undefined;
  return `recovering: ${failuresSince} of ${callsSince} calls failed since ${recoveringSince}, last error: ${error}`;
}

const percent = (rate: number): string => `${(rate * 100).toFixed(1)} %`;

const oneLine = (text: string): string => text.replace(/\s+/g, ' ');

/** Prints a tool's processes, grade and circuit. @throws CliError if it is not healthy */
export async function health({ client, out }: Session, tool: string): Promise<void> {
  const [report, circuit, processes] = await Promise.all([
    ask(getToolHealth({ client, path: { tool } })),
    ask(getCircuit({ client, path: { tool } })),
    // A built-in tool has no processes.
    ask(getCustomToolHealth({ client, path: { name: tool } })).catch(undefinedIf('not_found')),
  ]);
  // Throws for a removed tool, whose metrics still exist.
  if (!processes) await ask(getTool({ client, path: { name: tool } }));
  out.answer({ ...(processes && { processes }), report, circuit }, () =>
    out.members({
      status: processes?.status,
      executable: processes?.healthStatus,
      why: processes?.errorMessage ?? undefined,
      now: trendOf(report),
      grade: report.status,
      calls: `${report.totalCalls} in the last hour, ${percent(report.successRate)} succeeded`,
      latency:
        report.totalCalls > 0 ? `p50 ${report.p50LatencyMs} ms, p95 ${report.p95LatencyMs} ms` : undefined,
      circuit: circuit.state,
      'held by': circuit.heldByHand ? (circuit.by ?? undefined) : undefined,
      because: circuit.reason ?? undefined,
      issues: report.issues.join('; ') || undefined,
      advice: report.recommendations.join('; ') || undefined,
    }),
  );
  const isBroken = processes?.status === 'error' || processes?.healthStatus === 'unhealthy';
  if (isBroken || report.status === 'unhealthy' || circuit.state === 'open')
    throw new CliError(`${tool} is not healthy`);
}

/** Removes a custom tool. */
export async function unregister({ client, out }: Session, name: string): Promise<void> {
  await ask(removeCustomTool({ client, path: { name } }));
  out.answer({ name, removed: true }, () => `${name} is unregistered; its metrics stay`);
}

/** Makes a custom tool callable again. */
export async function enable({ client, out }: Session, name: string): Promise<void> {
  printTool(out, await ask(enableCustomTool({ client, path: { name } })));
}

/** Makes a custom tool uncallable, but keeps it. */
export async function disable({ client, out }: Session, name: string): Promise<void> {
  printTool(out, await ask(disableCustomTool({ client, path: { name } })));
}

/** Prints the revisions of a custom tool, newest first. */
export async function revisions({ client, out }: Session, name: string): Promise<void> {
  const all = await allOf((query) => ask(listCustomToolRevisions({ client, path: { name }, query })));
  out.answer(all, () =>
    out.table(
      ['REVISION', 'SOURCE', 'BY', 'AT', 'CONTENT'],
      all.map(({ revision, source, restores, createdBy, createdAt, contentHash }) => {
        const origin = restores === null ? source : `${source} of ${restores}`;
        return [String(revision), origin, createdBy, createdAt, contentHash.slice(0, 12)];
      }),
    ),
  );
}

/** Restores an earlier revision. */
export async function rollback({ client, out }: Session, name: string, revision: number): Promise<void> {
  printTool(out, await ask(rollBackCustomTool({ client, path: { name }, body: { revision } })));
}

/** Prints the state of a custom tool. */
export function printTool(out: Session['out'], tool: CustomToolView): void {
  const { name, revision, status, healthStatus, effectiveSandbox, errorMessage, warnings } = tool;
  const { tier, notEnforced } = effectiveSandbox;
  const gaps = notEnforced.length > 0 ? `, not enforced: ${notEnforced.join(', ')}` : '';
  const state = { name, revision, status, health: healthStatus, why: errorMessage ?? undefined };
  const remarks = { warning: warnings?.join('; '), sandbox: `tier ${tier}${gaps}` };
  out.answer(tool, () => out.members({ ...state, ...remarks }));
}
