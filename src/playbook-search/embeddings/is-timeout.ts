/** `AbortSignal.timeout` has run out; its reason is a DOMException, which not everywhere is an Error. */
export const isTimeout = (reason: unknown): boolean =>
  typeof reason === 'object' && reason !== null && 'name' in reason && reason.name === 'TimeoutError';
