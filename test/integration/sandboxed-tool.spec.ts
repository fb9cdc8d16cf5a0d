import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { startApp } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the server, the best sandbox of this host, a tool that tries what it may not; every act and tier: sandbox.slow-spec.ts

const hostile = join(__dirname, '..', 'fixtures', 'hostile', 'hostile.py');

it('a tool reads and writes its own files alone, and reaches no network', async () => {
  const folder = makeTestFolder();
  writeFileSync(join(folder, 'secret'), 'a secret');
  const outside = createServer((socket) => socket.on('error', () => undefined).end('hello'));
  await once(outside.listen(0, '127.0.0.1'), 'listening');
  const tk = await startApp({ SANDBOX: 'best-effort' });
  try {
    await tk.register('sly', { command: '/usr/bin/python3', args: [hostile], keepAlive: true });
    const { body: tool } = await tk.http.get('/api/v1/custom-tools/sly').expect(200);
    const { tier, enforced, notes } = tool.effectiveSandbox;
    const attempt = async (input: object): Promise<boolean> =>
      (await tk.call('sly', input).expect(200)).body.result?.done === true;
    const { port } = outside.address() as AddressInfo;
    const did = {
      allowedPaths: await attempt({ act: 'read', path: join(folder, 'secret') }),
      // A file of that name may come into being in the private folder of the tool.
      canWriteFiles: await attempt({ act: 'write', path: join(folder, 'written') }).then(() =>
        existsSync(join(folder, 'written')),
      ),
      allowNetwork: await attempt({ act: 'tcp', host: '127.0.0.1', port }),
    };
    expect({ did, notes }).toMatchObject({
      did: Object.fromEntries(Object.keys(did).map((field) => [field, !enforced.includes(field)])),
    });
    expect(tier === 0 || enforced.includes('allowedPaths')).toBe(true);
  } finally {
    await tk.close();
    outside.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
