import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ListedExperimentView } from '../../lib/api.js';
import { experimentsQuery } from '../../lib/experiment-queries.js';
import { Badge, buttonLook } from '../../ui/controls.js';
import { Page, Panel, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { NoModel } from './no-model.js';

const columns: readonly Column<ListedExperimentView>[] = [
  {
    ...{ name: 'Experiment', cut: true },
    cell: ({ id, name }) => (
      <Link to="/experiments/$id" params={{ id }}>
        {name}
      </Link>
    ),
  },
  { name: 'Status', width: 110, cell: ({ status }) => <Badge state={status} /> },
  { name: 'Span', cut: true, isMono: true, width: 170, cell: (experiment) => experiment.original_span_id },
  { name: 'Created', width: 100, cell: ({ created_at: at }) => <Time at={at} /> },
];

/** The history of experiments. */
export function ExperimentsPage(): ReactNode {
  const navigate = useNavigate();
  const list = useQuery(experimentsQuery());
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
                <Empty title="No experiments yet">
                  <p>
                    An experiment repeats a model call with another model, prompt or parameters, and compares
                    answer, cost, tokens and duration. Open a model call in a trace and choose “New
                    experiment”.
                  </p>
                </Empty>
              ) : (
                <Table
                  label="Experiments"
                  rows={data}
                  columns={columns}
                  keyOf={({ id }) => id}
                  onOpen={({ id }) => void navigate({ to: '/experiments/$id', params: { id } })}
                />
              )
            }
          </Loaded>
        </Panel>
      </Stack>
    </Page>
  );
}
