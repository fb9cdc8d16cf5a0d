import { defineConfig } from 'vite';

/** Modules that several screens need and the first one does not. Each entry becomes one file. */
const later = {
  editor:
    /@codemirror.(?!lang-|legacy)|@lezer.(common|highlight|lr)|style-mod|crelt|w3c-keyname|find-cluster-break|console.src.ui.code-mirror/,
  forms: /@cfworker|console.src.(ui.schema-form|lib.schema-validator)/,
  menus:
    /@floating-ui|@base-ui|console.src.ui.(menu|copy-as|dialog|form-dialog|start-over|select|filters|panel-tabs|period)[.]/,
  lists: /@tanstack.(virtual-core|react-virtual)|console.src.ui.(log-lines|long-table|run-result)/,
  parts:
    /console.src.(ui.(line-diff|ansi-text|execution-facts|changes-table|comparison)|lib.(ansi|changes))|node_modules.(diff|anser)/,
};

/** Whether the module is loaded with the page: imports lead to it from the entry without a lazy one between. */
function isFirst(id, context, seen = new Set()) {
  if (seen.has(id)) return false;
  seen.add(id);
  const { isEntry, importers } = context.getModuleInfo(id) ?? { importers: [] };
  return isEntry || importers.some((importer) => isFirst(importer, context, seen));
}

/** Few files, because a browser asks for six at a time: what screens share is joined. */
const groups = [
  { name: (id, context) => (isFirst(id, context) ? 'first' : null), debugName: 'first', priority: 3 },
  ...Object.entries(later).map(([name, test]) => ({ name, test, minShareCount: 2, priority: 2 })),
  { name: 'shared', minShareCount: 2, priority: 1 },
].map((group) => ({ ...group, includeDependenciesRecursively: false }));

/** `npx vite console` serves it with a server on port 3000 behind it; the set-up script builds it. */
export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  // Assets lead to each other by relative paths, because a proxy may serve them below any path.
  base: command === 'build' ? './' : '/console/',
  html: { cspNonce: '__NONCE__' },
  build: {
    target: 'es2023',
    // The policy of the page takes no data: URLs but for pictures, and names with a hash may be kept for ever.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
    reportCompressedSize: false,
    manifest: true,
    // One sheet: most of it is what the screens share.
    cssCodeSplit: false,
    rolldownOptions: {
      output: { codeSplitting: { groups } },
      // "use client" is for frameworks that render on a server.
      onLog: (level, log, handle) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && handle(level, log),
    },
  },
  server: { proxy: { '^/(api|docs|openapi.json)': 'http://127.0.0.1:3000' } },
}));
