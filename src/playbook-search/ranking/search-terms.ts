import { stemmer } from 'stemmer';

/** Words that say nothing about an incident: English glue, and the words of asking. */
const stopWords = new Set(
  (
    'a about after again all am an and any are as at be because been before being but by can cannot could did do does ' +
    'doing down during each few for from further get gets getting got had has have having he her here him his how i if ' +
    'in into is it its just keep keeps let like me more most my no nor not now of off on once only or other our out ' +
    'over own please same she should since so some still such than that the their them then there these they this ' +
    'those through to too under until up us very was we were what when where which while who whom why will with ' +
    'would you your help issue issues problem problems need needs want wants show find fix happening happened seeing see'
  ).split(' '),
);

/** Short forms that engineers write, and the word that the catalogue uses. */
const spellings: ReadonlyMap<string, string> = new Map([
  ['postgresql', 'postgres'],
  ['psql', 'postgres'],
  ['pg', 'postgres'],
  ['k8s', 'kubernetes'],
  ['cert', 'certificate'],
  ['certs', 'certificate'],
  ['db', 'database'],
  ['config', 'configuration'],
  ['cfg', 'configuration'],
  ['auth', 'authentication'],
  ['lb', 'balancer'],
  ['ro', 'readonly'],
]);

const notInWords = /[^\p{L}\p{N}]+/u;
const mayBeCamelCase = /.\p{Lu}/u;
const insideCamelCase = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

/** `OOMKilled` → `OOMKilled`, `OOM`, `Killed`: a reason matches whole and by its parts. */
export function splitWords(text: string): string[] {
  return text
    .split(notInWords)
    .filter(Boolean)
    .flatMap((word) => {
      const parts = mayBeCamelCase.test(word) ? word.split(insideCamelCase) : [word];
      return parts.length > 1 ? [word, ...parts] : parts;
    });
}

/** @returns the stem that is indexed and searched, or `null` for a word that says nothing */
export function toTerm(word: string): string | null {
  const lower = word.toLowerCase();
  if (lower.length < 2 || stopWords.has(lower)) return null;
  return stemmer(spellings.get(lower) ?? lower);
}

/** `toTerm` for a great many words: each is stemmed once. */
export function rememberingToTerm(): typeof toTerm {
  const known = new Map<string, string | null>();
  return (word) => {
    const remembered = known.get(word);
    if (remembered !== undefined) return remembered;
    const term = toTerm(word);
    known.set(word, term);
    return term;
  };
}

/** The distinct terms of a text in their order. */
export function termsOf(text: string, termOf = toTerm): string[] {
  return [...new Set(splitWords(text).map(termOf))].filter((term) => term !== null);
}
