import type { CreatePlaybookBody, PlaybookView } from '../../lib/api-types.js';

export type Draft = Partial<CreatePlaybookBody>;

/** A draft of the next version with the author's fields, without the status and figures of this version. */
export function draftOf(playbook: PlaybookView): Draft {
  const { playbook_id, version, name, description, signals, aliases, labels, content } = playbook;
  const optional = {
    ...{ when_to_use: playbook.when_to_use, when_not_to_use: playbook.when_not_to_use },
    ...{ owner: playbook.owner, maintainer: playbook.maintainer },
    expected_success_rate: playbook.expected_success_rate,
    expected_duration_seconds: playbook.expected_duration_seconds,
  };
  return {
    ...{ playbook_id, version: nextVersion(version), name, description, signals, aliases, labels },
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
    content,
  };
}

/** The least version that is greater: `1.2.3` → `1.2.4`, `v2` → `2.0.1`, `1.3.0-rc1` → `1.3.0`. */
export function nextVersion(version: string): string {
  const [, major, minor, patch, pre] = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-)?/.exec(version) ?? [];
  if (major === undefined) return '1.0.0';
  const last = Number(patch ?? 0) + (pre === undefined ? 1 : 0);
  return `${major}.${minor ?? 0}.${last}`;
}
