/**
 * `npm run client`: writes docs/openapi.json as the server describes itself, has it checked by redocly and spectral, and generates
 * the typed client from it. With --check it writes nothing, and exits with 1 if the file is not current.
 * The linters are installed here, beside the project's own packages.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = import.meta.dirname;
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-client-'));
const check = process.argv.includes('--check');

try {
  install();
  const document = `${JSON.stringify(await documentOfServer(), null, 2)}\n`;
  const drawn = join(folder, 'openapi.json');
  writeFileSync(drawn, document);
  lint(drawn);
  const file = join(root, 'docs', 'openapi.json');
  if (!check) {
    writeFileSync(file, document);
    execFileSync(process.execPath, [join(root, 'scripts', 'setup.mjs'), '--no-console'], {
      stdio: 'inherit',
    });
  } else if (readFileSync(file, 'utf8') !== document) {
    process.stdout.write(`${file} is not current: npm run client\n`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function install() {
  const npm = process.env.npm_execpath;
  const args = ['install', '--no-save', '--ignore-scripts', '--loglevel=error'];
  execFileSync(npm ? process.execPath : 'npm', [...(npm ? [npm] : []), ...args], {
    cwd: here,
    stdio: 'inherit',
  });
}

/** Of a server with no setting but where it keeps its data. */
async function documentOfServer() {
  const { loadConfig } = await import('../../dist/src/base/config/app-config.js');
  const { createApp } = await import('../../dist/src/edge/http/create-app.js');
  const { closeApp } = await import('../../dist/src/edge/http/drain.js');
  const places = { CUSTOM_TOOLS_DIR: join(folder, 'tools'), PLAYBOOKS_DIR: join(folder, 'playbooks') };
  const data = { TOOLKEEPER_DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'silent', PORT: '0' };
  const app = await createApp(loadConfig({ ...places, ...data }));
  await app.listen(0, '127.0.0.1');
  try {
    return await (await fetch(`${await app.getUrl()}/openapi.json`)).json();
  } finally {
    await closeApp(app);
  }
}

function lint(document) {
  const run = (program, ...args) =>
    execFileSync(process.execPath, [join(here, 'node_modules', program), ...args], {
      cwd: here,
      stdio: 'inherit',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
  run('@redocly/cli/bin/cli.js', 'lint', document, '--config', 'redocly.yaml', '--format', 'stylish');
  run('@stoplight/spectral-cli/dist/index.js', 'lint', document, '--ruleset', 'spectral.yaml', '--quiet');
}
