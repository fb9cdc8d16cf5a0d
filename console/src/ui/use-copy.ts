import { useToast } from './toasts.js';

/** @returns a function that copies text to the clipboard, shows a toast and returns whether it succeeded */
export function useCopy(): (text: string, name: string) => Promise<boolean> {
  const toast = useToast();
  return async (text, name) => {
    try {
      await navigator.clipboard.writeText(text);
      toast('Copied', name);
      return true;
    } catch {
      // Browsers offer no clipboard over plain HTTP from another machine.
      toast('Not copied', 'The browser does not allow it here: select the text and copy it manually.');
      return false;
    }
  };
}
