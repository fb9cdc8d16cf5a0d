import { calibrated } from './calibration.js';

/**
 * What the words of a query and of one item have in common. Weights are counted in "rare words": a term that occurs in
 * a single item weighs 1, so that the figures mean the same among few and among many.
 */
export interface LexicalEvidence {
  /** BM25 score, fields boosted. */
  readonly strength: number;
  /** Weight of the query's terms that the item contains. */
  readonly matched: number;
  /** Weight of all terms of the query, unknown ones included. */
  readonly asked: number;
  /** What the item's author filled in of the fields that are searched, by their boosts, 0 to 1. */
  readonly written: number;
  /** The query contains one of the item's phrases whole. */
  readonly showsPhrase: boolean;
}

/** Strength at which a match with an item that has every field is half convincing. */
const halfStrength = 9;
/** A long report need not be covered whole: this many rare words in common explain it. */
const enoughWords = 6;
/** Less than this in common ("pod", "service") says nothing. */
const tooLittle = 0.85;
/** Where right answers part from noise, set on the tuned halves of test/eval. */
const scale = { floor: 0, cut: 0.44 };

/** @returns 0 to 1; 0.70 and above is worth showing */
export function lexicalConfidence({
  strength,
  matched,
  asked,
  written,
  showsPhrase,
}: LexicalEvidence): number {
  if (matched <= 0) return 0;
  const coverage = matched / Math.max(Math.min(asked, enoughWords), matched);
  // A name and a description repeat a word less often than ten aliases do: less strength says as much.
  const convincing = strength / (strength + halfStrength * Math.sqrt(written));
  const telling = Math.min(1, matched / tooLittle);
  const raw = Math.sqrt(coverage * convincing * telling);
  return calibrated(showsPhrase && telling === 1 ? Math.max(raw, scale.cut) : raw, scale);
}
