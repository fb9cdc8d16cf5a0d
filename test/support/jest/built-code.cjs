const { createHash } = require('node:crypto');
const { join, relative } = require('node:path');

const root = join(__dirname, '../../..');
/** Jest's global setup runs outside of the realm of shared-realm.cjs: packages are what they are there. */
const isSetup = () => globalThis.requireBuilt === undefined;

/**
 * Jest's transformer for what is not a test: a module of src, client or migrations is the built one, a package is the one
 * that the built code loads. Both are loaded by Node itself, once per worker.
 */
module.exports = {
  process(source, path) {
    // Jest's own packages are those of a checkout that may be closed (open-checkout.mjs): they are not below this root.
    const isPackage = path.includes('/node_modules/');
    if (isPackage && isSetup()) return { code: source };
    const loaded = isPackage ? path : join(root, 'dist', relative(root, path).replace(/\.ts$/, '.js'));
    return { code: `module.exports = ${isSetup() ? 'require' : 'requireBuilt'}(${JSON.stringify(loaded)});` };
  },
  getCacheKey: (source, path) =>
    createHash('sha256')
      .update(isSetup() ? `setup\0${path}\0${source}` : path)
      .digest('hex'),
};
