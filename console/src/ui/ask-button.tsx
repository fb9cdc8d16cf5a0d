import type { ReactNode } from 'react';
import { askAssistant } from '../lib/ask-assistant.js';
import { Button } from './controls.js';

/** Opens the assistant with a question about what is shown. */
export const AskButton = ({ question }: { readonly question: string }): ReactNode => (
  <Button look="quiet" title="Ask the assistant (Ctrl I)" onClick={() => askAssistant(question)}>
    Ask
  </Button>
);
