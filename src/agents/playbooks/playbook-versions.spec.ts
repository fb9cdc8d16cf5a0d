import fc from 'fast-check';
import { compareVersions } from './playbook.validators.js';
import { planVersions, type ProposedVersion, type StoredVersion } from './playbook-versions.js';

const proposed = (
  version: string,
  contentHash = 'new',
  id = 'a',
  pointer = `/${version}`,
): ProposedVersion => ({
  playbook: { playbook_id: id, version, name: 'n', description: 'd', content: {} },
  contentHash,
  pointer,
});
const stored = (version: string, is_latest_version: boolean, content_hash = 'old'): StoredVersion => ({
  playbook_id: 'a',
  version,
  is_latest_version,
  content_hash,
});

describe('planVersions', () => {
  it('chains new versions in their order, whatever the order in which they come', () => {
    const { versions } = planVersions(
      [proposed('1.10'), proposed('1.2'), proposed('1.9')],
      [stored('1.0', true)],
    );
    expect(
      versions.map(({ playbook, previous, isLatest }) => [playbook.version, previous, isLatest]),
    ).toEqual([
      ['1.2', '1.0', false],
      ['1.9', '1.2', false],
      ['1.10', '1.9', true],
    ]);
  });

  it('keeps ids apart', () => {
    const { versions } = planVersions([proposed('0.1', 'new', 'b'), proposed('2.0')], [stored('1.0', true)]);
    expect(
      versions.map(({ playbook, previous, isLatest }) => [playbook.playbook_id, previous, isLatest]),
    ).toEqual([
      ['b', null, true],
      ['a', '1.0', true],
    ]);
  });

  it('leaves alone what is stored with the same content, also when it is no longer the latest', () => {
    const known = [stored('1.0', false, 'same'), stored('2.0', true)];
    const plan = planVersions([proposed('1.0', 'same')], known);
    expect(plan).toMatchObject({ versions: [], taken: [], notGreater: [] });
    expect(plan.unchanged).toHaveLength(1);
  });

  it('names what is taken, in whatever spelling, and what is not greater', () => {
    const known = [stored('1.0', false), stored('v2', true)];
    const plan = planVersions([proposed('1.0.0'), proposed('2.0.0'), proposed('1.5')], known);
    expect(plan.versions).toEqual([]);
    expect(plan.taken).toEqual([
      { pointer: '/1.0.0/version', detail: 'Playbook a has a version 1.0 already' },
      { pointer: '/2.0.0/version', detail: 'Playbook a has a version v2 already' },
    ]);
    expect(plan.notGreater).toEqual([
      { pointer: '/1.5/version', detail: 'version 1.5 must be greater than the latest one, v2' },
    ]);
  });

  it('does not take the same version twice from one request', () => {
    const plan = planVersions([proposed('1.0', 'x', 'a', '/0'), proposed('v1', 'y', 'a', '/1')], []);
    expect(plan.versions).toHaveLength(1);
    expect(plan.taken).toEqual([{ pointer: '/1/version', detail: 'Playbook a has a version 1.0 already' }]);
  });

  it('accounts for each proposal once, and leaves exactly the greatest version as the latest', () => {
    const version = fc.tuple(fc.nat(3), fc.nat(3)).map(([major, minor]) => `${major}.${minor}.0`);
    const proposals = fc.array(fc.tuple(version, fc.constantFrom('a', 'b')), { maxLength: 12 });
    fc.assert(
      fc.property(proposals, fc.option(version, { nil: undefined }), (drawn, known) => {
        const wanted = drawn.map(([each, id], at) => proposed(each, `hash ${each}`, id, `/${at}`));
        const plan = planVersions(wanted, known === undefined ? [] : [stored(known, true)]);
        const { versions, unchanged, taken, notGreater } = plan;
        expect(versions.length + unchanged.length + taken.length + notGreater.length).toBe(wanted.length);
        for (const [, chain] of Map.groupBy(versions, ({ playbook }) => playbook.playbook_id)) {
          expect(chain.map(({ isLatest }) => isLatest)).toEqual(
            chain.map((_, at) => at === chain.length - 1),
          );
          for (const { playbook, previous } of chain) {
            if (previous !== null) expect(compareVersions(previous, playbook.version)).toBeLessThan(0);
          }
        }
      }),
    );
  });
});
