/** The shapes of what must not be shown, and what is kept of each. */
const secrets: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, '$1 [redacted]'],
  [/(:\/\/[^\s:/@"\\]*:)[^\s/@"\\]+@/g, '$1[redacted]@'],
  [
    /((?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|authorization|cookie|credential)\w*\\*["']?\s*[:=]\s*\\*["']?)(?!bearer|basic)[^\s"'\\,;&}]{4,}/gi,
    '$1[redacted]',
  ],
  [/\b(?:sk|pk|rk|xox[abprs]|gh[opsur]|glpat|AKIA|ASIA|eyJ)[-_]?[\w.-]{12,}/g, '[redacted]'],
  [/(?<![\w/+])(?=[\w+/=-]*\d)[\w+/=-]{40,}/g, '[redacted]'],
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '[redacted]'],
];

/** A text of some hundred characters without what looks like a password, a token, a key or an e-mail address. */
export const withoutSecrets = (text: string): string =>
  secrets.reduce((clean, [secret, instead]) => clean.replaceAll(secret, instead), text);
