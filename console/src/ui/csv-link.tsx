import type { ReactNode } from 'react';
import { useProject } from '../lib/project.js';
import { serverUrl } from '../lib/server-url.js';
import { buttonLook } from './controls.js';

/** Downloads the newest 1,000 rows that match the filters. @param path of the list, below /api/v1/ */
export function CsvLink({ path, query }: { readonly path: string; readonly query: object }): ReactNode {
  const project = useProject();
  const given = Object.entries({ project, ...query, limit: 1_000, format: 'csv' });
  const pairs = given.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  const address = `${serverUrl}/api/v1/${path}?${new URLSearchParams(pairs).toString()}`;
  return (
    <a className={buttonLook(undefined, true)} href={address} download={`${path.replace(/.*\//, '')}.csv`}>
      CSV (newest 1,000)
    </a>
  );
}
