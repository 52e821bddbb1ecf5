import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const outDir = '../../graph/server/console/dist';

// All of it ends up in the Go binary: only the compressed form is kept there, and served as it is to every browser. The page itself
// stays plain, because the server puts a nonce into it.
function gzipAssets(): Plugin {
  return {
    name: 'gzip-assets',
    apply: 'build',
    writeBundle({ dir }) {
      for (const entry of readdirSync(dir ?? outDir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(js|css|svg)$/.test(entry.name)) continue;
        const file = join(entry.parentPath, entry.name);
        writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
        rmSync(file);
      }
    },
  };
}

// The folder itself stays: git keeps its .gitignore, and Go embeds it.
function cleanOutDir(): Plugin {
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
  base: '/',
  plugins: [cleanOutDir(), gzipAssets()],
  build: {
    outDir,
    emptyOutDir: false,
    // The content security policy of the page allows no data: in scripts, and no inline ones.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Libraries mark files for React's server side, which there is none of here.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
  // For work on the pages: vite serves them, and a running Kairship answers.
  server: { proxy: { '/graphql': 'http://127.0.0.1:8080', '/session': 'http://127.0.0.1:8080' } },
});
