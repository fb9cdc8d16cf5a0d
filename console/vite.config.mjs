import { defineConfig } from 'vite';

/** `npx vite console` serves it with a server on port 3000 behind it; the set-up script builds it. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  html: { cspNonce: '__NONCE__' },
  build: {
    target: 'es2023',
    // The policy of the page takes no data: URLs but for pictures, and names with a hash may be kept for ever.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
    reportCompressedSize: false,
    manifest: true,
    rolldownOptions: {
      // "use client" is for frameworks that render on a server.
      onLog: (level, log, handle) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && handle(level, log),
    },
  },
  server: { proxy: { '^/(api|docs|openapi.json)': 'http://127.0.0.1:3000' } },
});
