import { shownEnv, shownUrl } from '../../secrets/env-cipher.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { RunningTools } from '../running/running-tools.js';
import type { ToolStates } from '../state/tool-states.js';
import { type CustomToolView, maxReasons } from './custom-tools.dto.js';

/** A tool as answers show it, without secrets. */
export function customToolView(tool: CustomTool, running: RunningTools): CustomToolView {
  const server = running.server(tool.name);
  const {
    sandbox,
    permissions,
    fallback,
    userNumber: _userNumber,
    definitions: _definitions,
    ...others
  } = tool;
  return {
    ...others,
    url: tool.url && shownUrl(tool.url),
    // For a server behind a URL this is the URL, which may hold a secret.
    pinnedCommand: tool.url ? tool.pinnedCommand && shownUrl(tool.pinnedCommand) : tool.pinnedCommand,
    env: shownEnv(tool.env),
    thresholds: tool.thresholds ?? {},
    sandbox: sandbox ?? {},
    permissions: permissions ?? {},
    fallback: fallback ?? undefined,
    effectiveSandbox: running.effective(tool),
    ...(server && { tools: { ...server.counts(), why: server.warnings().slice(0, maxReasons) } }),
  };
}

/**
 * Adds the state at all replicas: the tool is `degraded` while some of them run it, and `errorMessage` names the first one
 * with trouble.
 * @param known undefined if there is only one replica
 */
export function acrossReplicas(
  view: CustomToolView,
  known: Awaited<ReturnType<ToolStates['troubles']>>,
): CustomToolView {
  if (!known || view.status === 'inactive') return view;
  const { total } = known;
  const troubles = known.byTool.get(view.name) ?? [];
  const broken = troubles.filter((each) => each.status === 'error' || each.healthStatus === 'unhealthy');
  const working = total - broken.length;
  const replicas = { total, working, troubles };
  const [first] = [...broken, ...troubles];
  if (!first) return { ...view, replicas };
  const reason = first.errorMessage ?? first.healthStatus;
  const errorMessage = `${working} of ${total} replicas work; ${first.name}: ${reason}`;
  const failed = troubles.filter((each) => each.status === 'error').length;
  const status = failed === total ? 'error' : 'active';
  const healthStatus = working > 0 ? 'degraded' : first.healthStatus;
  return { ...view, status, healthStatus, errorMessage, replicas };
}
