/** Thrown when variables are wrong; the message names every one of them. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}
