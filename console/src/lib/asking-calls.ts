import { useState } from 'react';
import type { Act } from './act.js';
import { ApiError, type OutcomeView } from './api.js';
import type { AskedQuestion } from './asked-question.js';
import { openStream } from './calls.js';
import { readExactly } from './exact-json.js';

/** Calls of a tool that may ask questions before it ends. */
export function useAskingCalls() {
  const [questions, setQuestions] = useState<readonly AskedQuestion[]>([]);
  const drop = (id: string): void => setQuestions((all) => all.filter(({ questionId }) => questionId !== id));
  const send = async ({ method, path, body }: Act, signal: AbortSignal): Promise<OutcomeView> => {
    const headers = { 'content-type': 'application/json' };
    const asking = `{"elicitation":{"form":{},"url":{}},${body.slice(1)}`;
    try {
      const events = await openStream({ method, url: path, body: asking, headers }, signal);
      for await (const { event, data } of events) {
        const read = readExactly(data || 'null');
        if (event === 'question') setQuestions((all) => [...all, read as AskedQuestion]);
        if (event === 'question_withdrawn') drop((read as AskedQuestion).questionId);
        if (event === 'outcome') return read as OutcomeView;
        if (event === 'problem') throw new ApiError(read as object);
      }
      throw new ApiError({ detail: 'The connection ended before the call did.' });
    } finally {
      setQuestions([]);
    }
  };
  return { questions, drop, send };
}

export type AskingCalls = ReturnType<typeof useAskingCalls>;
