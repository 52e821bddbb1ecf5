import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

const outDir = '../../graph/server/graphiql/dist';

// The editor is megabytes, and all of it ends up in the Go binary: only the
// compressed form is kept there, and served as it is to every browser.
function gzipOnly() {
  return {
    name: 'gzip-only',
    apply: 'build',
    writeBundle({ dir }) {
      for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(html|js|css|svg)$/.test(entry.name)) continue;
        const file = join(entry.parentPath, entry.name);
        writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
        rmSync(file);
      }
    },
  };
}

// The folder itself stays: git keeps its .gitignore, and Go embeds it.
function cleanOutDir() {
  return {
    name: 'clean-out-dir',
    apply: 'build',
    buildStart() {
      for (const name of readdirSync(outDir)) {
        if (name !== '.gitignore') rmSync(join(outDir, name), { recursive: true });
      }
    },
  };
}

export default defineConfig({
  base: '/graphiql/',
  plugins: [cleanOutDir(), gzipOnly()],
  build: {
    outDir,
    emptyOutDir: false,
    chunkSizeWarningLimit: 4096,
    // The content security policy of the page allows no data: in scripts, and no inline ones.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Libraries mark files for React's server side, which there is none of here.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
  worker: { format: 'es' },
});
