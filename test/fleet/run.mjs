/**
 * `npm run fleet`: three replicas of this checkout on one PostgreSQL behind haproxy, until Ctrl-C. FLEET_PORT is the first of nineteen ports.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import '../support/typescript.mjs';

// Tools of a server that is root run as users of their own: the disks are open to them.
if (process.getuid() === 0) process.umask(0);
const { Fleet } = await import('./fleet.mjs');
const fleet = new Fleet();
const say = (line) => process.stdout.write(`${line}\n`);
let ending;
// A second signal comes while this runs: whoever waits is told nothing new.
const close = () =>
  (ending ??= (async () => {
    say('fleet: ending');
    await fleet.close();
    process.exit();
  })());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, close);
try {
  const files = join(fleet.folder, 'files');
  mkdirSync(files);
  // One folder of files for all, and the sandbox as the host has it: the replicas have no trouble of their own.
  await fleet.start({ variables: { FILES_DIR: files, SANDBOX: 'best-effort' }, say });
  await fleet.register('echo', { description: 'Answers its input' });
} catch (error) {
  if (!ending) say(error.message);
  process.exitCode = 1;
  await close();
}
const authorization = `authorization: ${fleet.key.authorization}`;
say(`
balancer           ${fleet.url}
balancer, retries  ${fleet.retryingUrl}
console            ${fleet.url}/console/ (sign in with the key)`);
for (const { name, url, settings } of fleet.replicas)
  say(`${name}                 ${url}  disk ${settings.folder}`);
say(`PostgreSQL         ${fleet.db.url}
key                ${fleet.key.authorization.slice('Bearer '.length)}

To call a tool:
  curl ${fleet.url}/api/v1/tools/echo/execute -H '${authorization}' -H 'content-type: application/json' -d '{"input":{"n":1}}'
To see the replicas:
  curl ${fleet.url}/api/v1/replicas -H '${authorization}'
Ctrl-C ends all of it.`);
