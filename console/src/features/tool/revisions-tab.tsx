import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActButton } from '../../app/act-button.js';
import {
  ask,
  type BundleFilesView,
  diffCustomToolRevision,
  rollBackCustomTool,
  tryCustomToolRevision,
} from '../../lib/api.js';
import { bundleFilesQuery, customToolQuery, revisionsQuery } from '../../lib/queries.js';
import { useSession } from '../../lib/session.js';
import { asCommand } from '../../lib/snippets.js';
import { useChange } from '../../lib/use-change.js';
import { ChangesTable } from '../../ui/changes-table.js';
import { Tag } from '../../ui/controls.js';
import { FormDialog, inAudit } from '../../ui/form-dialog.js';
import { Card, Row, Stack } from '../../ui/layout.js';
import { Select } from '../../ui/select.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { useDone } from '../../ui/toasts.js';
import css from './tool.module.css';

const route = getRouteApi('/shell/tools/$name/revisions');

/** Every configuration that the tool ever had, what changed with it, and the way back. */
export function RevisionsTab(): ReactNode {
  const { name } = route.useParams();
  const { revision, against } = route.useSearch();
  const navigate = route.useNavigate();
  const tool = useQuery(customToolQuery(name));
  const list = useQuery(revisionsQuery(name));
  const current = tool.data?.revision;
  return (
    <Stack>
      <Card title="Revisions" flush>
        <Loaded query={list}>
          {(data) => (
            <Table
              label="Revisions"
              rows={data}
              keyOf={(each) => each.revision}
              isSelected={(each) => each.revision === revision}
              onOpen={(each) => void navigate({ search: { revision: each.revision }, replace: true })}
              columns={[
                {
                  name: 'Revision',
                  cell: (each) => (
                    <Row>
                      <Link
                        to="/tools/$name/revisions"
                        params={{ name }}
                        search={{ revision: each.revision }}
                        replace
                      >
                        {each.revision}
                      </Link>
                      {each.revision === current && <Tag>current</Tag>}
                    </Row>
                  ),
                },
                { name: 'When', cell: (each) => <Time at={each.createdAt} /> },
                {
                  name: 'Source',
                  cell: ({ source, restores }) => (restores === null ? source : `${source} to ${restores}`),
                },
                { name: 'Reason', cell: ({ reason }) => reason },
                { name: 'By', cell: ({ createdBy }) => createdBy },
                {
                  name: 'Roll back',
                  cell: (each) =>
                    each.revision !== current &&
                    current !== undefined && <RollBack tool={name} to={each.revision} />,
                },
              ]}
            />
          )}
        </Loaded>
      </Card>
      {revision !== undefined && <Changes tool={name} revision={revision} against={against} />}
    </Stack>
  );
}

interface ChangesProps {
  readonly tool: string;
  readonly revision: number;
  /** Absent: the one before. */
  readonly against: number | undefined;
}

function Changes({ tool: name, revision, against }: ChangesProps): ReactNode {
  const { data: all = [] } = useQuery(revisionsQuery(name));
  const change = useChange<{ against: number | undefined }>();
  const diff = useQuery({
    queryKey: ['tools', 'diff', name, revision, against],
    queryFn: ({ signal }) =>
      ask(
        diffCustomToolRevision({
          path: { name, revision },
          query: against === undefined ? {} : { against },
          signal,
        }),
      ),
  });
  return (
    <>
      <Card
        title={`What revision ${revision} changed${against === undefined ? '' : `, against ${against}`}`}
        flush
        actions={
          <Select
            label="Against"
            none="the one before"
            options={all.map((each) => `${each.revision}`).filter((each) => each !== `${revision}`)}
            value={against?.toString()}
            onChange={(chosen) => change({ against: chosen === undefined ? undefined : Number(chosen) })}
          />
        }
      >
        <Loaded query={diff}>
          {({ changes, against: before }) =>
            changes.length === 0 ? (
              <Empty
                title={before === null ? 'This is the first revision' : `No changes from revision ${before}`}
              />
            ) : (
              <ChangesTable
                label="Changes"
                changes={changes.map((each) => ({ ...each, path: unescaped(each.path) }))}
              />
            )
          }
        </Loaded>
      </Card>
      {diff.data?.changes.some(({ path }) => path === '/configuration/bundle') === true &&
        diff.data.against !== null && (
          <FileChanges tool={name} revision={revision} against={diff.data.against} />
        )}
    </>
  );
}

/** A JSON pointer as people read it: the paths of files are members of it. */
const unescaped = (pointer: string): string => pointer.replaceAll('~1', '/').replaceAll('~0', '~');

interface FileChangesProps {
  readonly tool: string;
  readonly revision: number;
  readonly against: number;
}

/** The files that a tool brought in two revisions, where they differ; those that are no text are left out. */
function FileChanges({ tool, revision, against }: FileChangesProps): ReactNode {
  const [before, after] = [
    useQuery(bundleFilesQuery(tool, against)),
    useQuery(bundleFilesQuery(tool, revision)),
  ];
  if (!before.data || !after.data) return null;
  const [old, now] = [contentsOf(before.data), contentsOf(after.data)];
  const paths = [...new Set([...old.keys(), ...now.keys()])].filter(
    (path) => old.get(path) !== now.get(path),
  );
  return (
    <Card title="What changed in its files" flush>
      {now.size > 1 && <FileList paths={[...now.keys()]} changed={paths} />}
      <ChangesTable
        label="What changed in its files"
        changes={paths.map((path) => ({ path, before: old.get(path), after: now.get(path) }))}
      />
    </Card>
  );
}

interface FileListProps {
  readonly paths: readonly string[];
  readonly changed: readonly string[];
}

const FileList = ({ paths, changed }: FileListProps): ReactNode => (
  <ul className={css.files} aria-label="Files">
    {paths.map((path) => (
      <li key={path}>
        <code>{path}</code> {changed.includes(path) && <Tag>changed</Tag>}
      </li>
    ))}
  </ul>
);

const contentsOf = ({ data }: BundleFilesView): ReadonlyMap<string, string | null> =>
  new Map(data.map(({ path, content }) => [path, content]));

interface RollBackProps {
  readonly tool: string;
  readonly to: number;
}

const RollBack = (props: RollBackProps): ReactNode => (
  <ActButton small scope="tools:admin" name="Roll back">
    {(onClose) => <RollBackDialog {...props} onClose={onClose} />}
  </ActButton>
);

/** Asks for the reason once a dry run has shown that the revision can run. */
function RollBackDialog({
  tool: name,
  to,
  onClose,
}: RollBackProps & { readonly onClose: () => void }): ReactNode {
  const done = useDone('tools');
  const { environment } = useSession();
  const dryRun = useQuery({
    queryKey: ['dry run', name, to],
    queryFn: ({ signal }) => ask(tryCustomToolRevision({ path: { name, revision: to }, signal })),
    ...{ gcTime: 0, staleTime: Infinity, retry: false },
  });
  return (
    <FormDialog
      title={`Roll ${name} back to revision ${to}?`}
      about="Its settings and files become those of that revision, as a new revision that can be rolled back as well. Its processes are restarted."
      name="Roll back"
      isReady={dryRun.isSuccess}
      reason={!dryRun.isError && inAudit}
      send={(options, reason) =>
        rollBackCustomTool({ path: { name }, body: { revision: to, reason }, ...options })
      }
      command={asCommand(environment, 'tool rollback', name, String(to))}
      onDone={({ revision }) => done(`${name} is as revision ${to} again`, `as its revision ${revision}`)}
      onClose={onClose}
    >
      {!dryRun.isSuccess && (
        <Loaded query={dryRun} lines={2}>
          {() => null}
        </Loaded>
      )}
    </FormDialog>
  );
}
