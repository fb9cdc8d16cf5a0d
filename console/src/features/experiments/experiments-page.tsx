import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ListedExperimentView } from '../../lib/api.js';
import { experimentsIn } from '../../lib/experiment-queries.js';
import { type OfProject, useProjects } from '../../lib/project.js';
import { Badge, buttonLook } from '../../ui/controls.js';
import { EmptyList } from '../../ui/empty-list.js';
import { Page, Panel, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { NoModel } from './no-model.js';

type Listed = ListedExperimentView & OfProject;

const pageOf = ({ id, project }: Listed) =>
  ({ to: '/experiments/$id', params: { id }, search: { project } }) as const;

const projectColumn: Column<Listed> = {
  ...{ name: 'Project', cut: true, width: 124 },
  cell: ({ project }) => project,
};
const columns: readonly Column<Listed>[] = [
  {
    ...{ name: 'Experiment', cut: true },
    cell: (experiment) => <Link {...pageOf(experiment)}>{experiment.name}</Link>,
  },
  { name: 'Status', width: 110, cell: ({ status }) => <Badge state={status} /> },
  { name: 'Span', cut: true, isMono: true, width: 170, cell: (experiment) => experiment.original_span_id },
  { name: 'Created', width: 100, cell: ({ created_at: at }) => <Time at={at} /> },
];

/** The history of experiments. */
export function ExperimentsPage(): ReactNode {
  const navigate = useNavigate();
  const { sought, isMixed } = useProjects();
  const list = useQuery(experimentsIn(sought));
  const create = (
    <Link to="/experiments/new" className={buttonLook('primary')}>
      New experiment
    </Link>
  );
  return (
    <Page name="Experiments" actions={create}>
      <Stack>
        {list.data?.can_run === false && <NoModel />}
        <Panel>
          <Loaded query={list}>
            {({ data }) =>
              data.length === 0 ? (
                <EmptyList of="experiments" isFiltered={false}>
                  <Empty title="No experiments yet">
                    <p>
                      An experiment repeats a model call with another model, prompt or parameters, and
                      compares answer, cost, tokens and duration. Open a model call in a trace and choose “New
                      experiment”.
                    </p>
                  </Empty>
                </EmptyList>
              ) : (
                <Table
                  label="Experiments"
                  rows={data}
                  columns={isMixed ? columns.toSpliced(1, 0, projectColumn) : columns}
                  keyOf={({ id }) => id}
                  onOpen={(experiment) => void navigate(pageOf(experiment))}
                />
              )
            }
          </Loaded>
        </Panel>
      </Stack>
    </Page>
  );
}
