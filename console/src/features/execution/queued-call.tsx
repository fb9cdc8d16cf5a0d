import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answerAsyncExecution, ApiError, ask, type AsyncExecutionView } from '../../lib/api.js';
import type { AskedQuestion } from '../../lib/asked-question.js';
import { words } from '../../lib/format.js';
import { queuedCallQuery } from '../../lib/queries.js';
import { Card, Facts, Stack } from '../../ui/layout.js';
import { Questions } from '../../ui/question-form.js';
import { Loaded, Problem } from '../../ui/states.js';

/** An asynchronous execution: its state, and what it asks its caller. */
export function QueuedCall({ id }: { readonly id: string }): ReactNode {
  const query = useQuery(queuedCallQuery(id));
  return (
    <Loaded query={query}>
      {(call) => (
        <Stack>
          <Questions
            questions={questionsOf(call)}
            drop={() => void query.refetch()}
            answer={(name, body) =>
              ask(answerAsyncExecution({ path: { id }, body: { inputResponses: { [name]: body } } }))
            }
          />
          {call.problem && <Problem problem={new ApiError(call.problem)} />}
          <Card title="Asynchronous execution">
            <Facts
              facts={[
                ['Tool', call.tool],
                ['Status', words(call.status)],
                ['Execution', call.outcome && <Record key="execution" id={call.outcome.executionId} />],
              ]}
            />
          </Card>
        </Stack>
      )}
    </Loaded>
  );
}

const questionsOf = ({ inputRequests = {} }: AsyncExecutionView): readonly AskedQuestion[] =>
  Object.entries(inputRequests).map(([questionId, asked]) => ({
    ...(asked as Pick<AskedQuestion, 'params'>),
    questionId,
  }));

const Record = ({ id }: { readonly id: string }): ReactNode => (
  <Link to="/executions/$id" params={{ id }}>
    {id}
  </Link>
);
