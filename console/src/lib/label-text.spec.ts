import { labelsOfLines, linesOfLabels, situationOf } from './label-text.js';

describe('labels as text', () => {
  it('reads those of a situation, and names the part that is none', () => {
    expect(situationOf(' environment=production,kubernaut.io/priority = P0, ')).toEqual({
      labels: { environment: 'production', 'kubernaut.io/priority': 'P0' },
      wrong: undefined,
    });
    expect(situationOf('environment=a=b, priority').wrong).toBe('priority');
    expect(situationOf('a&b=1').wrong).toBe('a&b=1');
  });

  it('writes those of a playbook so that they are read as they were', () => {
    const labels = { environment: '*', priority: ['P0', 'P1'], team: 'a, b', odd: ['[x]', 'y'] };
    expect(linesOfLabels(labels).split('\n').slice(0, 3)).toEqual([
      'environment: *',
      'priority: P0, P1',
      'team: ["a, b"]',
    ]);
    expect(labelsOfLines(linesOfLabels(labels))).toEqual(labels);
    expect(labelsOfLines('half\n\nopen: [')).toEqual({ half: '', open: '[' });
  });
});
