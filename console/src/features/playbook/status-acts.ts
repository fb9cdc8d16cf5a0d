import type { Sending } from '../../lib/act.js';
import {
  archivePlaybook,
  type ask,
  deprecatePlaybook,
  disablePlaybook,
  enablePlaybook,
  type PlaybookView,
} from '../../lib/api.js';

interface Version {
  readonly id: string;
  readonly version: string;
}

/** A change of a version's status, by somebody and with a reason. */
export interface StatusAct {
  readonly name: string;
  readonly done: string;
  readonly from: readonly PlaybookView['status'][];
  /** Agents lose it. */
  readonly isDanger: boolean;
  readonly about: string;
  readonly send: (
    path: Version,
    by: string,
    reason: string,
    options: Sending,
  ) => Parameters<typeof ask<unknown>>[0];
}

export const statusActs: readonly StatusAct[] = [
  {
    ...{ name: 'Enable', done: 'Enabled', from: ['disabled'], isDanger: false },
    about: 'Agents find it again.',
    send: (path, by, reason, options) =>
      enablePlaybook({ path, body: { enabled_by: by, enabled_reason: reason }, ...options }),
  },
  {
    ...{ name: 'Disable', done: 'Disabled', from: ['active'], isDanger: true },
    about:
      'Agents no longer find it, and no older version takes its place, until it is enabled or a newer version is saved.',
    send: (path, by, reason, options) =>
      disablePlaybook({ path, body: { disabled_by: by, disabled_reason: reason }, ...options }),
  },
  {
    ...{ name: 'Deprecate', done: 'Deprecated', from: ['active'], isDanger: true },
    about:
      'Agents no longer find it, and this version can only be archived afterwards. The reason is a notice for those who still use it.',
    send: (path, by, reason, options) =>
      deprecatePlaybook({ path, body: { deprecated_by: by, deprecation_notice: reason }, ...options }),
  },
  {
    ...{ name: 'Archive', done: 'Archived', from: ['active', 'deprecated'], isDanger: true },
    about: 'For good: this version stays readable, and cannot be enabled again.',
    send: (path, by, reason, options) =>
      archivePlaybook({ path, body: { archived_by: by, archived_reason: reason }, ...options }),
  },
];
