/**
 * Installs and builds what is missing or stale, and nothing else. `npm start` and `npm test` run it first.
 * Written for the host's own Node (20 or newer): the project's Node arrives with the packages.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const lockFile = join(root, 'package-lock.json');
const installedFile = join(root, 'node_modules', '.package-lock.json');
const lockDir = join(root, 'node_modules', '.toolkeeper-setup.lock');
const installStamp = join(root, 'node_modules', '.toolkeeper-install');
const buildStamp = join(root, 'dist', '.build-stamp');
const clientStamp = join(root, 'client', '.stamp');
const consoleStamp = join(root, 'console', 'dist', '.build-stamp');
const consoleSources = [
  'console/index.html',
  'console/icon.svg',
  'console/vite.config.mjs',
  'console/src',
  'client',
];

await withLock(async () => {
  await step(
    installStamp,
    hashOf(['package.json', 'package-lock.json', '.npmrc']),
    'installing packages',
    install,
  );
  // The image's first step: its layer is kept until a package changes.
  if (process.argv.includes('--packages')) return;
  const generator = ['docs/openapi.json', 'scripts/client/generate.mjs', 'package.json'];
  await step(clientStamp, hashOf(generator), 'generating the client', generateClient);
  await step(buildStamp, hashOf(['src', 'client', 'migrations', '.swcrc']), 'building', build);
  // The console may already use what the client, which is about to be written, does not have yet.
  if (!process.argv.includes('--no-console'))
    await step(consoleStamp, hashOf(consoleSources), 'building the console', buildConsole);
});

/** Runs `work` when the stamp does not hold `hash` (or --build asks for it), then writes the stamp. */
async function step(stamp, hash, title, work) {
  const forced = title.startsWith('building') && process.argv.includes('--build');
  if (!forced && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  const started = Date.now();
  process.stdout.write(`toolkeeper: ${title} …\n`);
  await work();
  writeFileSync(stamp, hash);
  process.stdout.write(`toolkeeper: ${title} took ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
}

/** `npm ci` fails where a registry lacks another platform's optional package; this leaves the lock as it is. */
async function install() {
  const npm = process.env.npm_execpath;
  const args = ['install', '--no-save', '--include=dev', '--include=optional', '--loglevel=error'];
  const started = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - started) / 1000);
    process.stdout.write(`toolkeeper: installing packages: ${seconds} s, ${installed()}\n`);
  }, 10_000);
  const lock = readFileSync(lockFile, 'utf8');
  await run(npm ? process.execPath : 'npm', npm ? [npm, ...args] : args);
  clearInterval(timer);
  checkAgainst(lock);
}

/** Ends the set-up if the lock changed, or if npm installed anything else than it names. `npm ci` would refuse both. */
function checkAgainst(lock) {
  const { packages: locked } = JSON.parse(lock);
  const { packages: found } = JSON.parse(readFileSync(installedFile, 'utf8'));
  const others = Object.keys(found).filter((path) => found[path].version !== locked[path]?.version);
  if (others.length === 0 && readFileSync(lockFile, 'utf8') === lock) return;
  process.stderr.write(
    `toolkeeper: package-lock.json and the installed packages differ (${others.join(', ') || 'npm changed the file'}); ` +
      'run npm install, and commit the lock\n',
  );
  process.exit(1);
}

/** Packages for other platforms are left out. */
function installed() {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8'));
  const folders = Object.keys(packages).filter((folder) => folder && !packages[folder].os);
  const there = folders.filter((folder) => existsSync(join(root, folder, 'package.json'))).length;
  if (there === 0) return 'npm looks up what it needs';
  return there < folders.length ? `${there} of ${folders.length} packages` : 'npm puts the packages together';
}

/** With the project's own Node.js: the generator does not run on all that the host may have. */
function generateClient() {
  rmSync(join(root, 'client'), { recursive: true, force: true });
  const own = join(root, 'node_modules', '.bin', 'node');
  return run(existsSync(own) ? own : process.execPath, [join(root, 'scripts', 'client', 'generate.mjs')]);
}

/** Plain swc, file by file (0.2 s in all): types are checked by `npm run typecheck`. */
async function build() {
  const { transformFile } = await import('@swc/core');
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const sources = filesIn(['src', 'client', 'migrations']).filter((file) => /(?<!\.spec)\.ts$/.test(file));
  await Promise.all(
    sources.map(async (file) => {
      const output = join(root, 'dist', file.replace(/\.ts$/, '.js'));
      const { code, map } = await transformFile(join(root, file), { cwd: root, filename: join(root, file) });
      mkdirSync(dirname(output), { recursive: true });
      writeFileSync(output, `${code}\n//# sourceMappingURL=${basename(output)}.map\n`);
      writeFileSync(`${output}.map`, map);
    }),
  );
}

/** Two seconds by Vite, into console/dist. */
async function buildConsole() {
  // Tests, which may build it as well, set another environment, for which React has a larger build.
  process.env.NODE_ENV = 'production';
  const { build: bundle } = await import('vite');
  await bundle({ configFile: join(root, 'console', 'vite.config.mjs'), logLevel: 'warn' });
}

async function run(command, args) {
  // The lifecycle variables of the outer npm must not steer the inner one.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => name !== 'npm_config_global'),
  );
  const [status] = await once(spawn(command, args, { cwd: root, stdio: 'inherit', env }), 'exit');
  if (status !== 0) process.exit(status ?? 1);
}

/** SHA-256 over names and contents of the files and of all files below the folders. */
function hashOf(names) {
  const hash = createHash('sha256');
  for (const file of filesIn(names))
    hash
      .update(file + '\0')
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

/** The files themselves and those below the folders, as paths from the root in a fixed order. */
function filesIn(names) {
  return names.flatMap((name) => {
    if (!statSync(join(root, name)).isDirectory()) return [name];
    const entries = readdirSync(join(root, name), { withFileTypes: true, recursive: true });
    return entries
      .filter((e) => e.isFile())
      .map((e) => relative(root, join(e.parentPath ?? e.path, e.name)))
      .sort();
  });
}

/** Two starts at once: the second waits; a lock whose owner died is taken over. */
async function withLock(work) {
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  for (;;) {
    try {
      mkdirSync(lockDir);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      if (!ownerLives()) rmSync(lockDir, { recursive: true, force: true });
      await delay(200);
    }
  }
  const pidFile = join(lockDir, 'pid');
  writeFileSync(pidFile, String(process.pid));
  process.on('exit', () => rmSync(lockDir, { recursive: true, force: true }));
  await work();
}

function ownerLives() {
  try {
    const pid = Number(readFileSync(join(lockDir, 'pid'), 'utf8'));
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Without a pid file its owner may have made the directory a moment ago.
    const age = Date.now() - (statSync(lockDir, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    return error.code === 'EPERM' || (error.code === 'ENOENT' && age < 2_000);
  }
}
