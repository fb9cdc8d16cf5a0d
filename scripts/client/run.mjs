/**
 * `npm run client`: writes docs/openapi.json as the decorators describe the server, has it checked by redocly and spectral, and
 * generates the typed client from it. test/e2e/openapi.e2e-spec.ts fails if the file is not current.
 * The linters are installed here, beside the project's own packages.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = import.meta.dirname;
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-client-'));

try {
  install();
  const drawn = join(folder, 'openapi.json');
  writeFileSync(drawn, `${JSON.stringify(await documentOfServer(), null, 2)}\n`);
  lint(drawn);
  copyFileSync(drawn, join(root, 'docs', 'openapi.json'));
  execFileSync(process.execPath, [join(root, 'scripts', 'setup.mjs'), '--no-console'], { stdio: 'inherit' });
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
  const { createApp, createDocument } = await import('../../dist/src/edge/http/create-app.js');
  const { closeApp } = await import('../../dist/src/edge/http/lifecycle.module.js');
  const places = { CUSTOM_TOOLS_DIR: join(folder, 'tools'), PLAYBOOKS_DIR: join(folder, 'playbooks') };
  const data = { TOOLKEEPER_DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'silent', PORT: '0' };
  const app = await createApp(loadConfig({ ...places, ...data }));
  try {
    await app.init();
    return createDocument(app);
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
