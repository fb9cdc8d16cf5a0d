import { ownFiles } from './bubblewrap.js';

/** Inside the sandbox: the way from an ordinary proxy address to the gateway's proxy, whose unix socket stands here. */
export const relaySocket = 'proxy.sock';
const relayPort = 3128;
const shell = 'sh';
const socatInside = 'socat';
/** As /proc/net/tcp writes 127.0.0.1 and the port. */
const listening = `0100007F:${relayPort.toString(16).toUpperCase().padStart(4, '0')}`;

/** Starts the relay, waits until it listens, and becomes the tool. A tool that is faster would find no network. */
const script = `
"${ownFiles}/${socatInside}" TCP-LISTEN:${relayPort},bind=127.0.0.1,fork,reuseaddr,backlog=64 UNIX-CONNECT:${ownFiles}/${relaySocket} </dev/null >/dev/null 2>&1 &
tries=0
while [ $tries -lt 20000 ]; do
  while read -r _ local remote state rest <&3; do
    if [ "$local $state" = "${listening} 0A" ]; then tries=30000; fi
  done 3</proc/net/tcp
  tries=$((tries + 1))
done
[ $tries -gt 30000 ] || { echo "the relay to the allow-list proxy did not start" >&2; exit 125; }
exec 3<&-
exec "$@"`;

/** The part of the command line that stands before the tool's own. */
export const relayCommand = (): string[] => [`${ownFiles}/${shell}`, '-c', script, 'toolkeeper-relay'];

/** Programs that stand in the sandbox for the relay, by their name there. */
export const relayFiles = (socat: string): Readonly<Record<string, string>> => ({
  [socatInside]: socat,
  [shell]: '/bin/sh',
});

const address = `http://127.0.0.1:${relayPort}`;

/** Names as curl, Python, Go and Node look for them; Node only asks with the last. */
export const proxyVariables: Readonly<Record<string, string>> = {
  http_proxy: address,
  https_proxy: address,
  HTTP_PROXY: address,
  HTTPS_PROXY: address,
  NODE_USE_ENV_PROXY: '1',
};
