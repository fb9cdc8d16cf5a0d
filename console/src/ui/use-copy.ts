import { useToast } from './toasts.js';

/** @returns what puts a text in the clipboard, says so, and answers whether it did */
export function useCopy(): (text: string, name: string) => Promise<boolean> {
  const toast = useToast();
  return async (text, name) => {
    try {
      await navigator.clipboard.writeText(text);
      toast('Copied', name);
      return true;
    } catch {
      // Over plain HTTP from another machine a browser gives no clipboard.
      toast('Not copied', 'The browser does not allow it here: select the text and copy it by hand.');
      return false;
    }
  };
}
