import { Sandbox } from '../sandbox/sandbox.js';
import { Redactor } from './secrets/redactor.js';
import { ToolConfinement } from './tool-confinement.js';

// real: the file system; mock: a host with bubblewrap, which is not come to

it('says of files that went away meanwhile that the command is wrong, not that we failed', async () => {
  const confinement = new ToolConfinement(
    new Sandbox({
      enabled: true,
      mode: 'enforce',
      defaults: { memoryMB: 512, processes: 64, temporaryMB: 64 },
      abilities: { bubblewrap: '/bwrap', countsProcesses: false, cgroups: {}, missing: {} },
      secrets: [],
    }),
  );
  const spec = { command: '/no/such/program', args: [], cwd: '/', env: {} };
  const launch = { spec, realPath: spec.command, place: undefined, redactor: new Redactor({}) };
  await expect(confinement.confine({ sandbox: null, permissions: null }, launch)).rejects.toMatchObject({
    code: 'invalid_request',
    details: { errors: [{ pointer: '/command', detail: expect.stringContaining('/no/such/program') }] },
  });
});
