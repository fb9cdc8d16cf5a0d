import { stemmer } from 'stemmer';

/**
 * English words without content. The list is the eval's own and shorter than the ranker's, so that a change of the
 * ranker does not change what the eval holds to be a common word.
 */
const functionWords = new Set(
  (
    'a about after again all although an and any are as at be because been before being both but by can cannot could ' +
    'did do does doing down during each ever few for from further get had has have having he her his how i if in into ' +
    'is isn it its just me more most my no nor not now of off on once only or other our out over own same she should ' +
    'since so some such t than that the their them then there these they this those through to too under until up us ' +
    'very was we were what when whenever where which while who whom why will with would you your s re'
  ).split(' '),
);

/** What engineers shorten, with the long form. */
const longForms: ReadonlyMap<string, string> = new Map([
  ['cert', 'certificate'],
  ['certs', 'certificate'],
  ['config', 'configuration'],
  ['db', 'database'],
  ['pg', 'postgres'],
  ['psql', 'postgres'],
  ['postgresql', 'postgres'],
  ['pvc', 'claim'],
  ['ns', 'namespace'],
]);

const insideCamelCase = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

const stem = (word: string): string => stemmer(longForms.get(word.toLowerCase()) ?? word.toLowerCase());
const hasContent = (word: string): boolean => word.length > 1 && !functionWords.has(word.toLowerCase());

/** The stems of a text's content words, `OOMKilled` also by its parts. */
export function contentStems(text: string): Set<string> {
  const words = text.split(/[^\p{L}\p{N}]+/u).flatMap((word) => [word, ...word.split(insideCamelCase)]);
  return new Set(words.filter(hasContent).map(stem));
}

/** Words as they are written: lower case, with their inner signs (`cert-manager`, `0/5`), in their order. */
const writtenWords = (text: string): string[] =>
  text.toLowerCase().match(/[\p{L}\p{N}]+(?:[-_./:'][\p{L}\p{N}]+)*/gu) ?? [];

/** Every run of three words, and every pair of content words that follow each other, stemmed. */
export function phrasesOf(text: string): Set<string> {
  const words = writtenWords(text);
  const content = words.filter(hasContent).map(stem);
  const runs = words.slice(2).map((_, at) => words.slice(at, at + 3).join(' '));
  const pairs = content.slice(1).map((_, at) => content.slice(at, at + 2).join(' '));
  return new Set([...runs, ...pairs]);
}
