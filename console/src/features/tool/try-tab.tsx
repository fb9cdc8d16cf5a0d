import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { callOf } from '../../lib/act.js';
import type { ToolView } from '../../lib/api.js';
import { call } from '../../lib/calls.js';
import { usePermission } from '../../lib/session.js';
import { toolQuery } from '../../lib/queries.js';
import { asCommand } from '../../lib/snippets.js';
import { Checkbox } from '../../ui/controls.js';
import { CallPanel } from '../../ui/call-panel.js';
import { CopyAs, formsOf } from '../../ui/copy-as.js';
import { Note, Stack } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';
import { useRegistration } from './use-registration.js';

const route = getRouteApi('/shell/tools/$name/try');

/** A call by hand, with the fields that the tool's own schema asks for. */
export function TryTab(): ReactNode {
  const { name } = route.useParams();
  const { custom, isCertain } = useRegistration(name);
  // A disabled tool is not listed for callers, and can still be tried.
  const isDisabled = custom?.status === 'inactive';
  const tool = useQuery({ ...toolQuery(name), enabled: isCertain && !isDisabled });
  const mayTest = usePermission('tools:admin') === 'yes' && custom !== undefined;
  if (isDisabled) return <Call name={name} tool={custom} mayTest={mayTest} />;
  return <Loaded query={tool}>{(data) => <Call name={name} tool={data} mayTest={mayTest} />}</Loaded>;
}

interface CallProps {
  readonly name: string;
  readonly tool: Pick<ToolView, 'inputSchema' | 'annotations'>;
  readonly mayTest: boolean;
}

function Call({ name, tool: { inputSchema, annotations }, mayTest }: CallProps): ReactNode {
  const [counts, setCounts] = useState(false);
  const client = useQueryClient();
  const isTrial = mayTest && !counts;
  return (
    <Stack>
      {annotations.destructive && (
        <Note tone="warn">
          Nothing says that this tool only reads: it really runs, and may change or delete things.
        </Note>
      )}
      <CallPanel
        key={name}
        draft={`call ${name}`}
        schema={inputSchema}
        run={async (text, signal) => {
          const outcome = await call(callOf(name, text, isTrial), signal);
          void client.invalidateQueries({ queryKey: ['executions'] });
          return outcome;
        }}
        options={(text) => (
          <>
            <CopyAs
              forms={{
                ...formsOf(() => callOf(name, text, isTrial)),
                'Command line': () => asCommand(isTrial ? 'tool test' : 'tool call', name, text),
              }}
            />
            {mayTest && (
              <Checkbox label="Counts for grade and circuit" checked={counts} onChange={setCounts} />
            )}
          </>
        )}
      />
    </Stack>
  );
}
