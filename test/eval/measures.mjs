/**
 * @param rankings of each query, best first: {playbookId, confidence}
 * @returns rows by half and kind. R@1, R@5 and MRR look at the order alone; `shown` is the share of queries with a right
 * answer among the first five that reach the threshold, `answered` the off-topic queries to which anything is shown
 */
export function measured(queries, rankings, threshold) {
  const table = {};
  for (const half of new Set(queries.map((query) => query.half))) {
    const answerable = queries.filter(({ kind }) => kind !== 'off-topic').map(({ kind }) => kind);
    for (const kind of new Set(answerable)) {
      const places = queries.flatMap((query, at) =>
        query.half === half && query.kind === kind ? [placeIn(rankings[at], query.relevant, threshold)] : [],
      );
      const share = (count) => Number((count / places.length).toFixed(3));
      table[`${half}, ${kind}`] = {
        queries: places.length,
        'R@1': share(places.filter(({ place }) => place <= 1).length),
        'R@5': share(places.filter(({ place }) => place <= 5).length),
        MRR: share(places.reduce((sum, { place }) => sum + 1 / place, 0)),
        shown: share(places.filter(({ place, isShown }) => place <= 5 && isShown).length),
        'a query shows': share(places.reduce((sum, { shown }) => sum + Math.min(5, shown), 0)),
      };
    }
    const off = rankings.filter((_, at) => queries[at].half === half && queries[at].kind === 'off-topic');
    table[`${half}, off-topic`] = {
      queries: off.length,
      answered: off.filter((ranking) => shownOf(ranking, threshold) > 0).length,
    };
  }
  return table;
}

const reaches = (confidence, threshold) => Math.round(confidence * 100) / 100 >= threshold;
const shownOf = (ranking, threshold) =>
  ranking.filter(({ confidence }) => reaches(confidence, threshold)).length;

function placeIn(ranking, relevant, threshold) {
  const at = ranking.findIndex(({ playbookId }) => relevant.includes(playbookId));
  return {
    place: at < 0 ? Infinity : at + 1,
    isShown: at >= 0 && reaches(ranking[at].confidence, threshold),
    shown: shownOf(ranking, threshold),
  };
}
