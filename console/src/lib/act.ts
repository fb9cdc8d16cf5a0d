/** The request of an act: the same one runs and can be copied. */
export interface Act {
  readonly method: 'POST' | 'PATCH';
  /** Below the server's address. */
  readonly path: string;
  /** JSON text. */
  readonly body: string;
}

/** A call of a tool; as a trial it spends no budget and counts neither for grade nor circuit. */
export function callOf(tool: string, inputText: string, isTrial: boolean): Act {
  const name = encodeURIComponent(tool);
  return {
    method: 'POST',
    path: isTrial ? `/api/v1/custom-tools/${name}/test` : `/api/v1/tools/${name}/execute`,
    body: `{"input":${inputText}}`,
  };
}
