/** Log levels of tools. */
export const noticeLevels = ['debug', 'info', 'warn', 'error'] as const;
export type NoticeLevel = (typeof noticeLevels)[number];

/** The progress of a call: `progress` of `total`, in a unit of the tool's own. */
export interface ProgressNotice {
  readonly type: 'progress';
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A log message of a tool. */
export interface LogNotice {
  readonly type: 'log';
  readonly level: NoticeLevel;
  readonly message: string;
  /** Any JSON value. */
  readonly data?: unknown;
}

/** A message that a tool sends while a call runs. */
export type ToolNotice = ProgressNotice | LogNotice;

/** A listener for the notices of a call. It is called while output is read, so it must neither throw nor wait. */
export type NoticeListener = (notice: ToolNotice) => void;
