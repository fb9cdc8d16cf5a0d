import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { callOf } from '../../lib/act.js';
import { call } from '../../lib/calls.js';
import { usePermission } from '../../lib/session.js';
import { customToolsQuery, toolQuery } from '../../lib/queries.js';
import { asCommand, asCurl, asTypeScript } from '../../lib/snippets.js';
import { Checkbox } from '../../ui/controls.js';
import { CallPanel } from '../../ui/call-panel.js';
import { CopyAs } from '../../ui/copy-as.js';
import { Note, Stack } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';

const route = getRouteApi('/shell/tools/$name/try');

/** A call by hand, with the fields that the tool's own schema asks for. */
export function TryTab(): ReactNode {
  const { name } = route.useParams();
  const tool = useQuery(toolQuery(name));
  const { data: custom } = useQuery(customToolsQuery);
  const mayTest =
    usePermission('tools:admin') === 'yes' && custom?.some((each) => each.name === name) === true;
  const [counts, setCounts] = useState(false);
  const client = useQueryClient();
  const isTrial = mayTest && !counts;
  const origin = window.location.origin;
  return (
    <Loaded query={tool}>
      {({ inputSchema, annotations }) => (
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
                    curl: () => asCurl(callOf(name, text, isTrial), origin),
                    'Command line': () => asCommand(name, text),
                    TypeScript: () => asTypeScript(callOf(name, text, isTrial), origin),
                  }}
                />
                {mayTest && (
                  <Checkbox label="Counts for grade and circuit" checked={counts} onChange={setCounts} />
                )}
              </>
            )}
          />
        </Stack>
      )}
    </Loaded>
  );
}
