// Bundles the sources of every entry in package.json into `dist`, one file each, with what several
// of them need in files that they share: loading a hundred modules takes longer than Fastify itself.
// Dependencies stay imports, but for TypeBox: its hundreds of modules take 100 ms to load, and 6 ms in
// one file. The declarations beside them are the compiler's.
import { copyFileSync, readFileSync } from 'node:fs'
import { build } from 'rolldown'

const { exports: entries } = JSON.parse(readFileSync('package.json', 'utf8'))
const names = Object.values(entries).flatMap(
  (entry) => /^\.\/dist\/(.*)\.js$/.exec(entry.default)?.[1] ?? [],
)

/** Whether a package, or a module of it, is copied into the bundle. */
const isInlined = (id) => /(?:^|\/node_modules\/)typebox(?:\/|$)/.test(id)

await build({
  input: Object.fromEntries(names.map((name) => [name, `src/${name}.ts`])),
  external: (id) => /^[^./]/.test(id) && !isInlined(id),
  platform: 'node',
  output: {
    dir: 'dist',
    chunkFileNames: 'shared/[name]-[hash].js',
    sourcemap: true,
    // The declarations and the sources in the package have them; here they would be read at each start.
    comments: { legal: true, annotation: true, jsdoc: false },
  },
})

// Its licence asks that the notice goes with the code.
copyFileSync('node_modules/typebox/license', 'dist/typebox-license.txt')
