import type { AppConfig } from '../../config/app-config.js';
import type { Dialect, PoolSettings, ProcessSpec } from '../../process-pool/pool.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';

/** @param dialect of an MCP server */
export function poolSettings(
  tool: CustomTool,
  spec: ProcessSpec,
  { customTools: limits, toolInput }: Pick<AppConfig, 'customTools' | 'toolInput'>,
  dialect: Dialect | undefined,
): PoolSettings {
  return {
    name: tool.name,
    spec,
    minProcesses: tool.minProcesses,
    poolSize: Math.min(tool.poolSize, limits.maxPoolSize),
    keepAlive: tool.keepAlive,
    maxConcurrency: tool.maxConcurrency,
    maxQueue: limits.maxQueue,
    idleTimeoutMs: limits.idleTimeoutMs,
    maxRequests: limits.maxRequestsPerProcess,
    maxAgeMs: limits.maxProcessAgeMs,
    maxRssBytes: tool.sandbox?.maxMemoryMB ? tool.sandbox.maxMemoryMB * 1_048_576 : limits.maxProcessRssBytes,
    startTimeoutMs: limits.startTimeoutMs,
    stopGraceMs: limits.stopGraceMs,
    cancelGraceMs: limits.cancelGraceMs,
    maxLineBytes: limits.maxOutputBytes,
    linesPerSecond: limits.outputLinesPerSecond,
    maxPendingInputBytes: 4 * toolInput.maxBytes,
    stderrBytes: limits.stderrBytes,
    maxFailedStarts: Math.max(3, tool.maxRetries),
    ...(dialect && ofServers(dialect, limits)),
  };
}

/**
 * A server may remember what it was told: no process of it is replaced for its age, and after a call that was given up it
 * has the time of a health check to answer a ping.
 */
const ofServers = (
  dialect: Dialect,
  { healthTimeoutMs }: AppConfig['customTools'],
): Partial<PoolSettings> => ({
  dialect,
  maxRequests: 0,
  maxAgeMs: 0,
  cancelGraceMs: healthTimeoutMs,
});
