/** Asks the shell to open the assistant; its detail is the question to begin with. */
export const askEvent = 'toolkeeper:ask';

export const askAssistant = (question: string): void =>
  void window.dispatchEvent(new CustomEvent(askEvent, { detail: question }));
