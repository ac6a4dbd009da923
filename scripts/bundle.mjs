// Bundles the sources of every entry in package.json, and of the thread that one of them starts,
// into `dist`, one file each, with what several of them need in files that they share: loading a hundred
// modules takes longer than Fastify itself. Dependencies stay outside, but for TypeBox: its hundreds of
// modules take 100 ms to load, and 6 ms in one file. The declarations beside them are the compiler's.
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'rolldown'

const { exports: entries } = JSON.parse(readFileSync('package.json', 'utf8'))
const names = Object.values(entries).flatMap(
  (entry) => /^\.\/dist\/(.*)\.js$/.exec(entry.default)?.[1] ?? [],
)
// What package.json names by other means: the thread, and its program.
names.push('adapter/embedded/worker', 'cli/main')

/** Whether a package, or a module of it, is copied into the bundle. */
const isInlined = (id) => /(?:^|\/node_modules\/)typebox(?:\/|$)/.test(id)

const { resolve } = createRequire(import.meta.url)

/** Whether a package, or a module of it, is CommonJS for those who import it as well. */
function isCommonJs(id) {
  if (/^(?:\.|node:)/.test(id)) return false
  const file = resolve(id)
  if (import.meta.resolve(id) !== pathToFileURL(file).href) return false
  let folder = dirname(file)
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).type !== 'module'
}

const STATIC_IMPORT = /^import (?:(\w+)(?:, )?)?(\{[^}]*\})? ?from "([^"]+)";$/gm

/**
 * Loads CommonJS packages by `require`: Node parses what is imported for the names of its exports, and
 * each module that it requires in turn. Fastify and three plugins take 70 ms less of a start's 300.
 */
const requireCommonJs = {
  name: 'require-commonjs',
  renderChunk(code, chunk) {
    // Browsers have no `require`: their bundlers read the import of React.
    if (chunk.fileName.startsWith('client/')) return null
    let required = 0
    const rendered = code.replace(STATIC_IMPORT, (statement, name, names, id) => {
      if (!isCommonJs(id)) return statement
      required += 1
      const pattern = names?.replaceAll(' as ', ': ')
      const bindings = [name, pattern].filter((binding) => binding !== undefined)
      return bindings.map((binding) => `const ${binding} = requirePackage("${id}");`).join(' ')
    })
    const left = chunk.imports.find((id) => rendered.includes(`from "${id}"`) && isCommonJs(id))
    if (left !== undefined) throw new Error(`${chunk.fileName} still imports ${left}`)
    if (required === 0) return null
    const head = 'import { createRequire as createPackageRequire } from "node:module"; '
    const requirePackage = 'const requirePackage = createPackageRequire(import.meta.url); '
    return head + requirePackage + rendered
  },
}

await build({
  input: Object.fromEntries(names.map((name) => [name, `src/${name}.ts`])),
  external: (id) => /^[^./]/.test(id) && !isInlined(id),
  platform: 'node',
  // What `codeSplitting` below asks for. No entry exports more for it: see test/exports.test.ts.
  preserveEntrySignatures: 'allow-extension',
  plugins: [requireCommonJs],
  output: {
    dir: 'dist',
    chunkFileNames: 'shared/[name]-[hash].js',
    // The client stays in one file, in its order: in parts, as the entries beside it need them, browsers would
    // load more of it.
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: 'client', test: /\/src\/client\/(?!(?:files|realtime|react|vue)\/)/ }],
    },
    // The declarations have them; here they would be read at each start.
    comments: { legal: true, annotation: true, jsdoc: false },
  },
})

// Its licence asks that the notice goes with the code.
copyFileSync('node_modules/typebox/license', 'dist/typebox-license.txt')
