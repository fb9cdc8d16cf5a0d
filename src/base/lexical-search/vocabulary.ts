import { stemmer } from 'stemmer';

/** Words with a special meaning in one kind of texts. */
export interface Vocabulary {
  readonly stopWords: ReadonlySet<string>;
  /** The common word for each spelling or abbreviation. */
  readonly spellings: ReadonlyMap<string, string>;
  /** The common stem for each stem. */
  readonly synonyms?: ReadonlyMap<string, string>;
}

/** English stop words and common abbreviations. */
export const everyday: Vocabulary = {
  stopWords: new Set(
    (
      'a about after again all am an and any are as at be because been before being but by can cannot could did do does ' +
      'doing down during each few for from further get gets getting got had has have having he her here him his how i if ' +
      'in into is it its just keep keeps let like me more most my no nor not now of off on once only or other our out ' +
      'over own please same she should since so some still such than that the their them then there these they this ' +
      'those through to too under until up us very was we were what when where which while who whom why will with ' +
      'would you your need needs want wants'
    ).split(' '),
  ),
  spellings: new Map([
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
  ]),
};

const notInWords = /[^\p{L}\p{N}]+/u;
const mayBeCamelCase = /.\p{Lu}/u;
const insideCamelCase = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

/** Scripts that are written without spaces between words. */
const unspaced = /([\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]+)/u;

/**
 * Splits a text into words. `OOMKilled` → `OOMKilled`, `OOM`, `Killed`: a reason matches whole and by its parts. `磁盘已满` →
 * `磁盘`, `盘已`, `已满`: each two characters are a word, as nothing shows where words end.
 */
export function splitWords(text: string): string[] {
  return text
    .split(notInWords)
    .flatMap((word) => word.split(unspaced))
    .filter(Boolean)
    .flatMap((word) => {
      if (unspaced.test(word)) return pairsOf(word);
      const parts = mayBeCamelCase.test(word) ? word.split(insideCamelCase) : [word];
      return parts.length > 1 ? [word, ...parts] : parts;
    });
}

/** Each two adjacent characters of a word. */
function pairsOf(word: string): string[] {
  const letters = [...word];
  return letters.length < 2 ? letters : letters.slice(1).map((letter, at) => `${letters[at]}${letter}`);
}

/** The stem of a word, which is indexed and searched; null for a stop word or a single character. */
function toTerm(word: string, { stopWords, spellings, synonyms }: Vocabulary): string | null {
  const lower = word.toLowerCase();
  if (lower.length < 2 || stopWords.has(lower)) return null;
  const stem = stemmer(spellings.get(lower) ?? lower);
  return synonyms?.get(stem) ?? stem;
}

/** Reads the terms of a text in their order, with repetitions. */
export type ReadTerms = (text: string) => readonly string[];

/** A reader for many texts: caches each word's terms for as long as it lives. */
export function rememberingTerms(vocabulary: Vocabulary): ReadTerms {
  const known = new Map<string, readonly string[]>();
  return (text) => {
    const terms: string[] = [];
    for (const word of text.split(notInWords)) {
      let termsOfWord = known.get(word);
      if (!termsOfWord) {
        termsOfWord = termsInOrder(word, vocabulary);
        known.set(word, termsOfWord);
      }
      for (const term of termsOfWord) terms.push(term);
    }
    return terms;
  };
}

/** The terms of a text in their order, with repetitions. */
const termsInOrder = (text: string, vocabulary: Vocabulary): string[] =>
  splitWords(text)
    .map((word) => toTerm(word, vocabulary))
    .filter((term) => term !== null);

/** The distinct terms of a text in their order. */
export const termsOf = (text: string, vocabulary: Vocabulary): string[] => [
  ...new Set(termsInOrder(text, vocabulary)),
];
