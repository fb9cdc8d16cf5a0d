/**
 * `npm run fleet`: three replicas of this checkout on one PostgreSQL behind haproxy, until Ctrl-C. FLEET_PORT is the first of nineteen ports.
 */
import '../support/typescript.mjs';

// Tools of a server that is root run as users of their own: the disks are open to them.
if (process.getuid() === 0) process.umask(0);
const { Fleet } = await import('./fleet.mjs');
const fleet = new Fleet();
const say = (line) => process.stdout.write(`${line}\n`);
const close = async () => {
  say('fleet: ending');
  await fleet.close();
  process.exit();
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, close);
try {
  await fleet.start();
} catch (error) {
  say(error.stack);
  process.exitCode = 1;
  await close();
}
say(`balancer           ${fleet.url}`);
say(`balancer, retries  ${fleet.retryingUrl}`);
for (const { name, url, settings } of fleet.replicas)
  say(`${name}                 ${url}  disk ${settings.folder}`);
say(`PostgreSQL         ${fleet.db.url}`);
say(`key                ${fleet.key.authorization.slice('Bearer '.length)}`);
