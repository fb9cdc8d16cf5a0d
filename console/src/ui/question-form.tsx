import { useMutation } from '@tanstack/react-query';
import { type ReactNode, Suspense, useState } from 'react';
import { answerQuestion, asApiError, ask, type QuestionAnswer } from '../lib/api.js';
import type { AskedQuestion } from '../lib/asked-question.js';
import type { AskingCalls } from '../lib/asking-calls.js';
import { knownInput } from '../lib/snippets.js';
import { Button } from './controls.js';
import { SchemaForm } from './input-editor.js';
import { Note, Row, Stack } from './layout.js';
import { Loading, Problem } from './states.js';

type Answer = (questionId: string, body: QuestionAnswer) => Promise<unknown>;

interface QuestionsProps extends Pick<AskingCalls, 'questions' | 'drop'> {
  /** Absent: the answer goes to the open call. */
  readonly answer?: Answer;
}

interface QuestionFormProps {
  readonly question: AskedQuestion;
  readonly send: Answer;
  readonly onDone: (questionId: string) => void;
}

const answerOpenCall: Answer = (id, body) => ask(answerQuestion({ path: { id }, body }));

/** The questions that wait for an answer. */
export const Questions = ({ questions, drop, answer = answerOpenCall }: QuestionsProps): ReactNode =>
  questions.map((question) => (
    <QuestionForm key={question.questionId} question={question} send={answer} onDone={drop} />
  ));

/** A question of a tool: a form made from its schema, or a link. */
function QuestionForm({ question: { questionId, params }, send, onDone }: QuestionFormProps): ReactNode {
  const { mode, message = '', url = '', requestedSchema = {} } = params;
  const [content, setContent] = useState(() => knownInput(requestedSchema) as object);
  const answer = useMutation({
    mutationFn: (body: QuestionAnswer) => send(questionId, body),
    onSuccess: () => onDone(questionId),
    // The answer may be private.
    gcTime: 0,
  });
  const isLink = mode === 'url';
  const accept = (): void => answer.mutate({ action: 'accept', ...(!isLink && { content: { ...content } }) });
  return (
    <form
      aria-label="Question of the tool"
      onSubmit={(event) => {
        event.preventDefault();
        accept();
      }}
    >
      <Stack>
        <Note>The tool asks: {message}</Note>
        {isLink && <SafeLink url={url} />}
        {!isLink && (
          <Suspense fallback={<Loading lines={2} />}>
            <SchemaForm
              schema={requestedSchema}
              value={content}
              problems={[]}
              onChange={(value) => setContent(value ?? {})}
            />
          </Suspense>
        )}
        {answer.error && <Problem problem={asApiError(answer.error)} />}
        <Row>
          <Button look="primary" type="submit" disabled={answer.isPending}>
            {isLink ? 'I have opened it' : 'Send answer'}
          </Button>
          <Button onClick={() => answer.mutate({ action: 'decline' })} disabled={answer.isPending}>
            Decline
          </Button>
        </Row>
      </Stack>
    </form>
  );
}

/** The whole address is shown, so that the reader sees where it leads. */
const SafeLink = ({ url }: { readonly url: string }): ReactNode =>
  /^https?:\/\//i.test(url) ? (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {url}
    </a>
  ) : (
    <code>{url}</code>
  );
