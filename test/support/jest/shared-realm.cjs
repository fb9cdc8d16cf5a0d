const vm = require('node:vm');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** Stands for Node's own realm where Jest's runtime compiles a file for the realm of its environment. */
const thisRealm = {};
const { compileFunction } = vm;
vm.compileFunction = (code, parameters, options) =>
  compileFunction(code, parameters, {
    ...options,
    parsingContext: options.parsingContext === thisRealm ? undefined : options.parsingContext,
  });

/**
 * Runs test files in Node's own realm, one after the other in each worker, so that the built server and its packages are
 * loaded once per worker (built-code.cjs) and not once per file.
 */
module.exports = class SharedRealm {
  constructor({ projectConfig }) {
    this.global = Object.assign(globalThis, projectConfig.globals, { requireBuilt: require });
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.variables = { ...process.env };
    this.folder = process.cwd();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return thisRealm;
  }

  async setup() {}

  /** What a file changed of the process is put back for the next one. */
  async teardown() {
    // Jest keeps its event handlers on the global object, which the files of a worker share here.
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    this.fakeTimersModern.dispose();
    process.chdir(this.folder);
    for (const name of Object.keys(process.env)) if (!(name in this.variables)) delete process.env[name];
    Object.assign(process.env, this.variables);
  }
};
