import { once } from 'node:events';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/common/project.ts';
import { OwnPostgres } from '../chaos/recording/own-postgres.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { until } from '../support/wait.ts';
import { Balancer } from './balancer.mjs';
import { DatabaseLink } from './database-link.mjs';
import { Pooler, poolModes } from './pooler.mjs';
import { Replica } from './replica.mjs';

/**
 * The first of nineteen ports: balancer, three replicas, balancer with retries, the ways of replica 3 to the database, a
 * pooler, and replicas that a scenario adds.
 */
const firstPort = Number(process.env.FLEET_PORT ?? 3100);
const { FLEET_POOLER } = process.env;
if (FLEET_POOLER && !poolModes.includes(FLEET_POOLER))
  throw new Error(`FLEET_POOLER must be one of ${poolModes.join(', ')}, not ${FLEET_POOLER}`);
const adminKey = 'the-key-of-the-fleet';
const fixture = new URL('../fixtures/tools/fixture-tool.mjs', import.meta.url);

/** Three replicas on one PostgreSQL behind haproxy, with a disk each. */
export class Fleet {
  folder = makeTestFolder();
  db = new OwnPostgres(this.folder);
  balancer = new Balancer(this.folder);
  pooler = new Pooler();
  ways = [new DatabaseLink(), new DatabaseLink()];
  /** All ways of replica 3 to the database. */
  link = {
    cut: () => this.ways.forEach((way) => way.child && way.cut()),
    heal: () => this.ways.forEach((way) => way.child && way.heal()),
    close: () => this.ways.forEach((way) => way.close()),
  };
  /** Where each replica sees its own disk. */
  disk = join(this.folder, 'disk');
  url = `http://127.0.0.1:${firstPort}`;
  retryingUrl = `http://127.0.0.1:${firstPort + 4}`;
  key = { authorization: `Bearer ${adminKey}` };
  replicas = [];
  onExit = () => this.kill();

  /**
   * @param options `{ variables, checkout, poolMode, say }`: more settings of the replicas, the checkout that they run, the
   * mode of a PgBouncer before the database, and a function that gets a line for each step
   */
  async start({
    variables = {},
    checkout = projectRoot(),
    poolMode = FLEET_POOLER,
    say = () => undefined,
  } = {}) {
    for (let port = firstPort; port < firstPort + 8; port++) await assertFree(port);
    say('starting PostgreSQL …');
    process.on('exit', this.onExit);
    for (const each of ['disk', 'no-playbooks', 'shared']) mkdirSync(join(this.folder, each));
    await this.db.start();
    const [addresses, cuttable] = await this.databases(poolMode);
    this.common = {
      HOST: '127.0.0.1',
      ADMIN_API_KEY: adminKey,
      SECRETS_KEY: '00'.repeat(32),
      DRAIN_DELAY_MS: '5000',
      PLAYBOOKS_DIR: join(this.folder, 'no-playbooks'),
      SANDBOX: 'off',
      ...variables,
      ...addresses,
    };
    this.checkout = checkout;
    this.replicas = [1, 2, 3].map((n) => this.replica(n, firstPort + n, n === 3 ? cuttable : {}));
    this.copyTool('fixture-tool.mjs', fixture);
    for (const replica of this.replicas) {
      say(`starting ${replica.name} at ${replica.url} …`);
      replica.start();
    }
    say('waiting for the replicas: 10 to 60 s …');
    const address = (n) => `127.0.0.1:${firstPort + n}`;
    const replicas = [1, 2, 3].map(address);
    await this.balancer.start({ plain: address(0), retrying: address(4), replicas });
    await this.allUp();
  }

  /** Settings by which replicas reach the database, and others for the replica that can be cut off. */
  async databases(poolMode) {
    const { url } = this.db;
    const [way, direct] = this.ways;
    const pooled = poolMode ? await this.pooler.open(url, firstPort + 7, poolMode, this.folder) : url;
    const addresses = { DATABASE_URL: pooled };
    const cuttable = { DATABASE_URL: await way.open(pooled, firstPort + 5) };
    if (poolMode === 'transaction') {
      addresses.DATABASE_SESSION_URL = url;
      cuttable.DATABASE_SESSION_URL = await direct.open(url, firstPort + 6);
    }
    return [addresses, cuttable];
  }

  replica(n, port, variables) {
    const { common, checkout, disk: mount } = this;
    const folder = join(this.folder, `r${n}`);
    return new Replica(n, { folder, mount, port, checkout, variables: { ...common, ...variables } });
  }

  /** Adds replicas that the balancer does not know. */
  async grow(count) {
    while (this.replicas.length < count) {
      const n = this.replicas.length + 1;
      const replica = this.replica(n, firstPort + 6 + n, {});
      this.replicas.push(replica);
      copyFileSync(fixture, join(replica.settings.folder, 'tools', 'fixture-tool.mjs'));
      replica.start();
    }
    await Promise.all(this.replicas.map((replica) => replica.ready()));
  }

  /** Waits until the balancer sends calls to all replicas that it knows. */
  async allUp() {
    await Promise.all(this.replicas.map((replica) => replica.ready()));
    await until(async () => (await this.balancer.up()).length === 3, {
      what: 'the balancer to use all replicas',
    });
  }

  /** Starts what a scenario has ended, and undoes what it did to the network. */
  async restore() {
    this.link.heal();
    for (const replica of this.replicas) if (!replica.isRunning) replica.start();
    await this.allUp();
  }

  /** Puts a file on the disk of each replica. @returns its path there */
  copyTool(name, source) {
    for (const { settings } of this.replicas)
      copyFileSync(new URL(source, import.meta.url), join(settings.folder, 'tools', name));
    return join(this.disk, 'tools', name);
  }

  /** A request with the operator's key to the balancer, or to the replica whose `url` is given. */
  async ask(method, path, body, { url = this.url, headers = {}, timeoutMs = 60_000 } = {}) {
    const began = performance.now();
    const sent = {
      method,
      headers: { ...this.key, ...(body && { 'content-type': 'application/json' }), ...headers },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    };
    try {
      const answer = await fetch(`${url}${path}`, sent);
      const text = await answer.text();
      const ms = performance.now() - began;
      return { status: answer.status, headers: answer.headers, body: parsed(text), ms };
    } catch (error) {
      return {
        status: 0,
        headers: new globalThis.Headers(),
        body: { code: String(error.cause?.code ?? error.name) },
        ms: performance.now() - began,
      };
    }
  }

  /** @returns `ask`'s answer with `said`: `success`, the error's type, or the code of the refusal */
  async call(tool, input = {}, { url, headers, context, timeoutMs } = {}) {
    const path = `/api/v1/tools/${tool}/execute`;
    const answer = await this.ask(
      'POST',
      path,
      { input, ...(context && { context }) },
      { url, headers, timeoutMs },
    );
    const { status, error, code } = answer.body;
    const said = answer.status === 200 ? (error?.type ?? status) : (code ?? String(answer.status));
    return { ...answer, said };
  }

  /** Registers the fixture tool under a name. @throws unless it was created */
  async register(name, more = {}, url = this.replicas[0].url) {
    const body = {
      name,
      command: 'node',
      args: [join(this.disk, 'tools', 'fixture-tool.mjs')],
      keepAlive: true,
      poolSize: 8,
      ...more,
    };
    const answer = await this.ask('POST', '/api/v1/custom-tools', body, { url });
    if (answer.status !== 201) throw new Error(`${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  /** Waits until each replica answers calls of the tool: its processes have started. */
  async warm(name) {
    for (const { url } of this.replicas)
      await until(async () => (await this.call(name, {}, { url })).said === 'success', {
        what: `${name} at ${url}`,
      });
  }

  /** The sum of a metric of one replica over its labels. */
  async metric(name, { url }) {
    const { body } = await this.ask('GET', '/metrics', undefined, { url });
    const lines = String(body.text)
      .split('\n')
      .filter((line) => line.startsWith(name) && /^[ {]/.test(line.slice(name.length)));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  async close() {
    await this.balancer.end();
    await Promise.all(this.replicas.map((replica) => replica.end('SIGKILL')));
    this.link.close();
    this.pooler.close();
    await this.db.stop();
    process.off('exit', this.onExit);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The last resort of a harness that ends early. */
  kill() {
    for (const { child } of [...this.replicas, this.balancer, ...this.ways, this.pooler])
      child?.kill('SIGKILL');
  }
}

/** @throws Error if another process listens there */
async function assertFree(port) {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    const hint = `Port ${port} is taken (${error.code}): set FLEET_PORT to the first of six free ports`;
    throw new Error(hint, { cause: error });
  }
  await new Promise((done) => server.close(done));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}
