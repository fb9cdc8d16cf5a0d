import { createHash } from 'node:crypto';
import { contentStems, phrasesOf } from './content-words.js';
import { type EvalQuery, evalQueries, samplePlaybooks } from './eval-set.js';

const queries = evalQueries();
const playbooks = samplePlaybooks();
const ofKind = (kind: EvalQuery['kind']) => queries.filter((query) => query.kind === kind);
const answered = queries.filter(({ relevant }) => relevant.length > 0);

/** Everything of a playbook that a search may look at. */
const searchedText = (id: string): string => {
  const playbook = playbooks.find(({ playbook_id }) => playbook_id === id);
  if (!playbook) throw new Error(`no playbook ${id}`);
  const { playbook_id, name, description, signals = [], aliases = [], when_to_use = '' } = playbook;
  return [playbook_id, name, description, ...signals, ...aliases, when_to_use].join('\n');
};

describe('the queries of the eval', () => {
  it('are enough', () => {
    expect(new Set(queries.map(({ id }) => id)).size).toBe(queries.length);
    expect(new Set(queries.map(({ text }) => text)).size).toBe(queries.length);
    expect(answered.length).toBeGreaterThanOrEqual(120);
    expect(ofKind('no-overlap').length).toBeGreaterThanOrEqual(answered.length / 3);
    expect(new Set(answered.flatMap(({ relevant }) => relevant)).size).toBeGreaterThanOrEqual(40);
    for (const half of ['tuned', 'untouched']) {
      expect(ofKind('off-topic').filter((query) => query.half === half).length).toBeGreaterThanOrEqual(20);
    }
  });

  it('name playbooks that exist, unless nothing fits', () => {
    const ids = new Set(playbooks.map(({ playbook_id }) => playbook_id));
    expect(answered.flatMap(({ relevant }) => relevant).filter((id) => !ids.has(id))).toEqual([]);
    expect(
      queries.filter(({ kind, relevant }) => (kind === 'off-topic') !== (relevant.length === 0)),
    ).toEqual([]);
  });

  it('fell into their halves by a rule', () => {
    const order = (id: string) => createHash('sha256').update(id).digest('hex');
    for (const kind of ['ordinary', 'no-overlap', 'off-topic'] as const) {
      const sorted = ofKind(kind).sort((a, b) => (order(a.id) < order(b.id) ? -1 : 1));
      expect(sorted.filter(({ half }, at) => half !== (at % 2 === 0 ? 'tuned' : 'untouched'))).toEqual([]);
    }
  });

  it('have no content word in common with their playbooks where they say so', () => {
    const common = ofKind('no-overlap').flatMap(({ id, text, relevant }) => {
      const words = contentStems(text);
      return relevant.flatMap((each) =>
        [...contentStems(searchedText(each))].filter((word) => words.has(word)).map((word) => ({ id, word })),
      );
    });
    expect(common).toEqual([]);
  });

  it('share no phrase with the signals and aliases of any playbook', () => {
    const phrases = new Set(
      playbooks.flatMap(({ signals = [], aliases = [] }) =>
        [...signals, ...aliases].flatMap((phrase) => [...phrasesOf(phrase)]),
      ),
    );
    const common = queries.flatMap(({ id, text }) =>
      [...phrasesOf(text)].filter((phrase) => phrases.has(phrase)).map((phrase) => ({ id, phrase })),
    );
    expect(common).toEqual([]);
  });
});

describe('content words', () => {
  it('meet in other forms and by their parts', () => {
    expect([...contentStems('OOMKilled pods, it is the cert')]).toEqual([
      'oomkil',
      'oom',
      'kill',
      'pod',
      'certif',
    ]);
  });

  it('make phrases', () => {
    expect([...phrasesOf('The restart of cert-manager failed')]).toEqual([
      'the restart of',
      'restart of cert-manager',
      'of cert-manager failed',
      'restart cert-manag',
      'cert-manag fail',
    ]);
  });
});
