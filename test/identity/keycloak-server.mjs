import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { URLSearchParams } from 'node:url';
import { freePort } from './free-port.mjs';

const version = '26.7.3';
const cache = join(import.meta.dirname, 'node_modules', '.cache');
const home = join(cache, `keycloak-${version}`);
const password = 'password-of-the-administrator';

/** Fetches Keycloak once. Maven keeps what it fetched, too. */
function install() {
  if (existsSync(home)) return;
  const fresh = join(cache, 'fresh');
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  const artifact = `-Dartifact=org.keycloak:keycloak-quarkus-dist:${version}:tar.gz`;
  execFileSync('mvn', ['-q', '-B', 'dependency:copy', artifact, `-DoutputDirectory=${fresh}`], {
    stdio: 'inherit',
  });
  execFileSync('tar', ['xzf', join(fresh, `keycloak-quarkus-dist-${version}.tar.gz`), '-C', fresh]);
  renameSync(join(fresh, `keycloak-${version}`), home);
  rmSync(fresh, { recursive: true });
}

/** Returns what `look` finds, once it finds something. */
export async function until(what, look, seconds = 300) {
  for (const end = Date.now() + seconds * 1_000; Date.now() < end; await pause(250)) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`${what} did not come within ${seconds} s`);
}

/**
 * A Keycloak in development mode, with an empty database of its own.
 * @param certificate of an https server which Keycloak trusts
 */
export async function startKeycloak(certificate) {
  install();
  rmSync(join(home, 'data'), { recursive: true, force: true });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log = join(cache, 'keycloak.log');
  const listen = ['--http-host=127.0.0.1', `--http-port=${port}`];
  const options = ['start-dev', '--features=cimd', ...listen, `--truststore-paths=${certificate}`];
  let child;
  let token;

  const answers = () =>
    fetch(`${url}/realms/master`).then(
      ({ ok }) => ok,
      () => false,
    );
  async function start() {
    const output = openSync(log, 'w');
    child = spawn(join(home, 'bin', 'kc.sh'), options, {
      // Its script starts Java, which gets no SIGKILL that the script gets.
      detached: true,
      stdio: ['ignore', output, output],
      env: {
        ...process.env,
        KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
        KC_BOOTSTRAP_ADMIN_PASSWORD: password,
        JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1 -Xmx512m',
      },
    });
    await until('Keycloak', async () => {
      assert.equal(child.exitCode, null, readFileSync(log, 'utf8').slice(-4_000));
      return answers();
    });
  }
  async function stop() {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    kill();
    await ended;
    await until('the end of Keycloak', async () => !(await answers()));
  }
  const kill = () => process.kill(-child.pid, 'SIGKILL');

  async function signedIn() {
    const answer = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'password',
        client_id: 'admin-cli',
        username: 'admin',
        password,
      }),
    });
    return (await answer.json()).access_token;
  }
  /** Asks the administration API. An answer without a body is the id of what was made. */
  async function admin(path, method = 'GET', body) {
    const ask = async () =>
      fetch(`${url}/admin/realms${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    token ??= await signedIn();
    let answer = await ask();
    if (answer.status === 401) {
      token = await signedIn();
      answer = await ask();
    }
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? answer.headers.get('location')?.split('/').at(-1) : JSON.parse(text);
  }

  // A run that a signal ends does not come to the `after` of its suites.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, kill);
  await start();
  return { url, admin, start, stop };
}
