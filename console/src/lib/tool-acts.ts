/**
 * Acts on a tool. A button, the palette and an address (`?act=open-circuit`) start them; each asks before it is done.
 * Their scope is `tools:admin`.
 */
export const toolActs = {
  'open-circuit': { title: 'Hold open', tab: 'circuit', isDanger: true },
  'close-circuit': { title: 'Close circuit', tab: 'circuit', isDanger: false },
  'reset-circuit': { title: 'Reset circuit', tab: 'circuit', isDanger: false },
  enable: { title: 'Enable', tab: 'settings', isDanger: false },
  disable: { title: 'Disable', tab: 'settings', isDanger: true },
  remove: { title: 'Remove', tab: 'settings', isDanger: true },
} as const;
export type ToolActId = keyof typeof toolActs;

export const toolActIds = Object.keys(toolActs) as ToolActId[];

/** Path below /console of the screen with the action's dialog. */
export const pathOfAct = (tool: string, id: ToolActId): string =>
  `/tools/${encodeURIComponent(tool)}/${toolActs[id].tab}?act=${id}`;
