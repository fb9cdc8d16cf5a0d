/**
 * Does at once what many ask for one after the other: for all that ask within a moment, and not again before it is done.
 * @param momentMs counted from the first of them
 */
export function gathered(act: () => Promise<unknown>, momentMs: number): () => void {
  let isWanted = false;
  let isUnderWay = false;
  const run = async (): Promise<void> => {
    isUnderWay = true;
    while (isWanted) {
      await new Promise((resolve) => setTimeout(resolve, momentMs));
      isWanted = false;
      await act();
    }
    isUnderWay = false;
  };
  return () => {
    isWanted = true;
    if (!isUnderWay) void run();
  };
}
