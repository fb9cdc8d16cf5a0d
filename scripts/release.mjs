/**
 * `npm run release -- <version> [--dry-run]`: sets the version, also that of the image, dates the changelog's unreleased section, packs the tarball and lists its
 * packages (SBOM, CycloneDX) in release/, then commits and tags. It pushes and publishes nothing.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const image = 'docker/k8s/base/kustomization.yaml';
const changed = ['package.json', 'package-lock.json', 'CHANGELOG.md', image];
const changelog = join(root, 'CHANGELOG.md');

const { values, positionals } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false } },
  allowPositionals: true,
});
try {
  const release = check(positionals);
  if (values['dry-run'])
    say(`release: ${release.version} could be made, with ${release.lines} lines of CHANGELOG.md`);
  else make(release);
} catch (error) {
  say(`release: ${error.message}`);
  process.exitCode = 1;
}

/** @throws Error with what prevents the release; nothing has changed then */
function check([version = '', ...rest]) {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version) || rest.length > 0)
    throw new Error('usage: npm run release -- <version such as 1.2.3> [--dry-run]');
  const { version: present } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (version === present) throw new Error(`package.json has version ${version} already`);
  const dirty = git('status', '--porcelain');
  if (dirty !== '') throw new Error(`these files differ from the last commit:\n${dirty}`);
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`the tag v${version} exists`);
  const [, section] = /^## Unreleased\n([^]*?)(?=^## |$(?![^]))/m.exec(readFileSync(changelog, 'utf8')) ?? [];
  if (!section?.trim()) throw new Error('CHANGELOG.md has nothing in the section "## Unreleased"');
  return { version, lines: section.trim().split('\n').length };
}

function make({ version }) {
  const out = join(root, 'release');
  mkdirSync(out, { recursive: true });
  // Before the version changes: a changed package.json would have the packages installed again.
  run(process.execPath, 'scripts/setup.mjs');
  try {
    npm('version', version, '--no-git-tag-version', '--ignore-scripts');
    dateChangelog(version);
    const manifest = readFileSync(join(root, image), 'utf8');
    writeFileSync(join(root, image), manifest.replace(/newTag: .*/, `newTag: ${version}`));
    const tarball = npm('pack', '--ignore-scripts', '--pack-destination', out).trim().split('\n').at(-1);
    const sbom = `toolkeeper-${version}.cdx.json`;
    writeFileSync(join(out, sbom), bill());
    git('commit', '--quiet', '--message', `release: ${version}`, '--', ...changed);
    git('tag', '--annotate', `v${version}`, '--message', `Toolkeeper ${version}`);
    say(`release: v${version} is committed and tagged; release/${tarball} and release/${sbom} are written`);
    say('release: to publish it: git push --follow-tags');
  } catch (error) {
    git('checkout', '--quiet', 'HEAD', '--', ...changed);
    throw error;
  }
}

/** The packages that the tarball needs, as the lock names them. */
function bill() {
  const sbom = JSON.parse(npm('sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx'));
  // npm writes the name of the folder here.
  sbom.metadata.component.name = 'toolkeeper';
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

function dateChangelog(version) {
  const date = new Date().toISOString().slice(0, 10);
  const text = readFileSync(changelog, 'utf8')
    .replace(' Nothing has been released yet.', '')
    .replace('## Unreleased\n', `## Unreleased\n\n## ${version} - ${date}\n`);
  writeFileSync(changelog, text);
}

function run(program, ...args) {
  return execFileSync(program, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function git(...args) {
  return run('git', ...args).trim();
}

function npm(...args) {
  return run('npm', ...args, '--loglevel=error');
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
