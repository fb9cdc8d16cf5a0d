/**
 * `npm run client`: writes docs/openapi.json as the server tells it, has it checked by redocly and spectral, and writes
 * the typed client in client/ from it. With --check it writes nothing, names what is not current and exits with 1.
 * The packages that it needs are installed here, beside the project's own.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = import.meta.dirname;
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-client-'));
const check = process.argv.includes('--check');

try {
  install();
  const drawn = join(folder, 'openapi.json');
  writeFileSync(drawn, `${JSON.stringify(await documentOfServer(), null, 2)}\n`);
  lint(drawn);
  await generate(drawn, join(folder, 'client'));
  const settings = `${JSON.stringify(toolSettingsOf(drawn), null, 2)}\n`;
  writeFileSync(join(folder, 'client', 'tool-settings.json'), settings);
  put(drawn, join(root, 'docs', 'openapi.json'));
  put(join(folder, 'client'), join(root, 'client'));
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
  const { loadConfig } = await import('../../dist/src/config/app-config.js');
  const { createApp } = await import('../../dist/src/http/create-app.js');
  const { closeApp } = await import('../../dist/src/http/drain.js');
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

async function generate(document, path) {
  const { createClient } = await import('@hey-api/openapi-ts');
  await createClient({
    input: document,
    output: { path, module: { extension: '.js' } },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    logs: { level: 'silent', file: false },
  });
}

/**
 * The settings of a tool as a JSON Schema for a form. Defaults stand in the descriptions and are not filled in:
 * a setting that is left out stays as the server has it.
 */
function toolSettingsOf(document) {
  const { schemas } = JSON.parse(readFileSync(document, 'utf8')).components;
  const left = new Set(['$ref', 'allOf', 'default', 'example', 'nullable']);
  const plain = (value) => {
    if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
    const { $ref, allOf = [], default: initial, description = '' } = value;
    const [part] = [...($ref ? [{ $ref }] : []), ...allOf].map(
      (each) => schemas[each.$ref.split('/').at(-1)],
    );
    const hasDefault = initial !== undefined && !Array.isArray(initial);
    const told = [description, hasDefault ? `Default: ${initial}.` : ''].filter(Boolean).join('. ');
    const rest = Object.fromEntries(Object.entries(value).filter(([name]) => !left.has(name)));
    return { ...(part && plain(part)), ...mapped(rest, plain), ...(told && { description: told }) };
  };
  return plain(schemas.CustomToolCreate);
}

function mapped(object, change) {
  const all = (members) =>
    Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value)]));
  return { ...all(object), ...(object.properties && { properties: all(object.properties) }) };
}

/** Takes the place of what is there, or with --check is compared with it. */
function put(from, to) {
  if (check) {
    if (textOf(from) === textOf(to)) return;
    process.stdout.write(`${to} is not current: npm run client\n`);
    process.exitCode = 1;
  } else {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true });
  }
}

/** Of a file, or of all files below a folder with their names. */
function textOf(path) {
  if (!existsSync(path)) return '';
  const entries = path.endsWith('.json') ? [] : readdirSync(path, { recursive: true, withFileTypes: true });
  if (entries.length === 0) return readFileSync(path, 'utf8');
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files
    .sort()
    .map((file) => `${file.slice(path.length)}\n${readFileSync(file, 'utf8')}`)
    .join('\n');
}
