// Bundles the sources of every entry in package.json into `dist`, one file each, with what several
// of them need in files that they share: loading a hundred modules takes longer than Fastify itself.
// Dependencies stay imports. The declarations beside them are the compiler's.
import { readFileSync } from 'node:fs'
import { build } from 'rolldown'

const { exports: entries } = JSON.parse(readFileSync('package.json', 'utf8'))
const names = Object.values(entries).flatMap(
  (entry) => /^\.\/dist\/(.*)\.js$/.exec(entry.default)?.[1] ?? [],
)

await build({
  input: Object.fromEntries(names.map((name) => [name, `src/${name}.ts`])),
  external: /^[^./]/,
  platform: 'node',
  output: {
    dir: 'dist',
    chunkFileNames: 'shared/[name]-[hash].js',
    sourcemap: true,
    // The declarations and the sources in the package have them; here they would be read at each start.
    comments: { legal: true, annotation: true, jsdoc: false },
  },
})
