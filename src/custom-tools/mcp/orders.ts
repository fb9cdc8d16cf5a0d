/** Texts by which a definition would order a model about instead of telling it what the tool does. */
const orders: readonly RegExp[] = [
  /\b(ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(instructions?|prompts?|rules|guidelines|polic(y|ies)|messages)\b/i,
  /\b(do not|don't|never|without)\b[^.\n]{0,30}\b(tell|telling|inform|informing|mention|mentioning|notify|notifying|show|showing|reveal|revealing|ask|asking)\b[^.\n]{0,40}\busers?\b/i,
  /\b(system|developer) (prompt|message)\b/i,
  /<\/?\s*(important|system|instructions?|secret|assistant|user|admin)\s*>/i,
  /<\|[a-z_]{1,20}\|>|\[\/?INST\]/i,
  /\b(before|after|when|whenever|instead of)\b[^.\n]{0,60}\b(any|every|all|each) (other )?tools?\b/i,
  /(~|\$HOME|\/root|\/home\/\w+)\/\.(ssh|aws|kube|config|gnupg|netrc|docker)|\bid_(rsa|ed25519)\b|\/etc\/(shadow|passwd)\b/,
];
/** What shows on no screen: controls, zero widths, marks of direction, tags; not what joins emoji. */
const hidden =
  /(?![\t\n\r])\p{Cc}|[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;
const around = 40;

/**
 * Looks for words to the model in the texts of a definition, those of its schemas included. It knows the usual ones:
 * a person who reads the definition knows more.
 * @returns a sentence about the first
 */
export function orderIn(value: unknown): string | undefined {
  for (const text of textsIn(value)) {
    const unseen = hidden.exec(text)?.[0];
    if (unseen !== undefined) {
      const code = unseen.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
      return `it holds a character that nobody sees (U+${code})`;
    }
    for (const order of orders) {
      const found = order.exec(text);
      if (found)
        return `its text reads like an order to the model: "${excerpt(text, found.index, found[0].length)}"`;
    }
  }
  return undefined;
}

function excerpt(text: string, at: number, length: number): string {
  return text
    .slice(Math.max(0, at - around), at + Math.min(length, 2 * around) + around)
    .replace(/\s+/g, ' ')
    .trim();
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null) {
    for (const [name, child] of Object.entries(value)) {
      if (!Array.isArray(value)) yield name;
      yield* textsIn(child);
    }
  }
}
