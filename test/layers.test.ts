import t from 'tap'
import type { Sources } from './support/source-imports.ts'
import { findCycles, readImports, readSources, resolvePath } from './support/source-imports.ts'

interface Layer {
  /** The other layers it may import. */
  readonly layers: readonly string[]
  /** The packages it may import; `@scope/*` stands for all of a scope. */
  readonly packages: readonly string[]
  /** Whether it may import modules of Node; without them it runs in a browser. */
  readonly node: boolean
}

const CORE = ['core', 'core/errors', 'core/schema']

/** The rule: what each folder of `src` may import besides itself. A file belongs to the deepest. */
const LAYERS: Readonly<Record<string, Layer>> = {
  core: { layers: ['core/errors'], packages: [], node: false },
  'core/errors': { layers: [], packages: [], node: false },
  'core/schema': {
    layers: ['core', 'core/errors'],
    packages: ['ajv', 'ajv-formats', 'typebox'],
    node: false,
  },
  // Apart from the rest of core, which runs in browsers.
  'core/secrets': { layers: ['core'], packages: [], node: true },
  'core/network': { layers: ['core'], packages: [], node: true },
  transport: {
    layers: ['auth', ...CORE, 'core/network'],
    packages: [
      ...['fastify', '@fastify/*', 'fastify-plugin', 'find-my-way', 'fast-querystring'],
      ...['@opentelemetry/api', 'prom-client', 'socket.io'],
      ...['config', 'yaml'],
    ],
    node: true,
  },
  auth: {
    layers: [...CORE, 'core/secrets', 'core/network'],
    packages: ['fast-jwt', 'openid-client', 'jose', 'bcryptjs'],
    node: true,
  },
  adapter: {
    layers: [...CORE, 'core/secrets', 'core/network', 'adapter/matching'],
    packages: ['mongodb', '@aws-sdk/*'],
    node: true,
  },
  'adapter/matching': { layers: [], packages: ['bson'], node: true },
  'adapter/embedded': { layers: ['adapter/matching'], packages: ['bson'], node: true },
  cli: { layers: [], packages: [], node: true },
  client: { layers: ['core', 'core/errors'], packages: ['ofetch'], node: false },
  'client/files': { layers: ['client', 'core', 'core/errors'], packages: [], node: false },
  'client/realtime': {
    layers: ['client', 'core', 'core/errors'],
    packages: ['eventsource-parser'],
    node: false,
  },
  'client/react': { layers: ['client/realtime'], packages: ['react'], node: false },
  'client/vue': { layers: ['client/realtime'], packages: ['vue'], node: false },
}

const FORBIDDEN_NAME = /^(utils?|helpers?|common|types)(\.ts)?$/
const MAX_LINES = 320

/** Returns a sentence for every breach of the rule, none when all is well. */
function checkSources(sources: Sources, layers: typeof LAYERS = LAYERS): string[] {
  const found = Object.entries(sources).flatMap(([file, source]) =>
    readImports(source).map((specifier) => ({
      from: file,
      specifier,
      to: resolvePath(file, specifier),
    })),
  )
  // Type imports are edges as well. Nothing is loaded for a type, so they could do no harm at run
  // time; but of files in a circle none can be understood, tested or moved without all the others.
  const fileEdges = found.flatMap(({ from, to }) =>
    to === undefined || sources[to] === undefined ? [] : [{ from, to }],
  )
  const folderEdges = fileEdges
    .map(({ from, to }) => ({ from: toFolder(from), to: toFolder(to) }))
    // A folder inside another one is a part of it: both may use each other, as long as their files
    // make no circle. LAYERS has a row for those that have to stand alone.
    .filter(({ from, to }) => !`${from}/`.startsWith(`${to}/`) && !`${to}/`.startsWith(`${from}/`))
  return [
    ...Object.entries(sources).flatMap(([file, source]) => checkFile(file, source, layers)),
    ...found.flatMap(({ from, specifier, to }) => {
      const problem = checkImport(from, specifier, to, sources, layers)
      return problem === undefined ? [] : [`${from} ${problem}`]
    }),
    ...findCycles(folderEdges).map((cycle) => `cycle between folders: ${cycle}`),
    ...findCycles(fileEdges).map((cycle) => `cycle between files: ${cycle}`),
  ]
}

function checkFile(file: string, source: string, layers: typeof LAYERS): string[] {
  const problems: string[] = []
  const lines = source.replace(/\n$/, '').split('\n').length
  if (toLayer(file, layers) === undefined) problems.push(`${file} is in no layer`)
  if (lines > MAX_LINES) problems.push(`${file} has ${lines} lines, more than ${MAX_LINES}`)
  if (file.split('/').some((part) => FORBIDDEN_NAME.test(part))) {
    problems.push(`${file} has a name that says nothing of what it holds`)
  }
  return problems
}

function checkImport(
  from: string,
  specifier: string,
  to: string | undefined,
  sources: Sources,
  layers: typeof LAYERS,
): string | undefined {
  const name = toLayer(from, layers)
  const layer = name === undefined ? undefined : layers[name]
  if (name === undefined || layer === undefined) return undefined
  if (specifier === '?') return 'imports something that is not a plain string'
  if (to !== undefined) {
    if (sources[to] === undefined) return `imports ${specifier}, which is no file of src`
    const target = toLayer(to, layers)
    const allowed = target === name || (target !== undefined && layer.layers.includes(target))
    return allowed ? undefined : `imports ${to}: ${name} may not import ${target}`
  }
  if (specifier.startsWith('node:')) {
    return layer.node ? undefined : `imports ${specifier}: ${name} runs in browsers too`
  }
  const [first = '', second = ''] = specifier.split('/')
  const names = first.startsWith('@') ? [`${first}/*`, `${first}/${second}`] : [first]
  if (names.some((one) => layer.packages.includes(one))) return undefined
  return `imports ${specifier}: ${name} may not name this package`
}

function toFolder(file: string): string {
  return file.slice(0, Math.max(0, file.lastIndexOf('/')))
}

function toLayer(file: string, layers: typeof LAYERS): string | undefined {
  for (let folder = toFolder(file); folder !== ''; folder = toFolder(folder)) {
    if (layers[folder] !== undefined) return folder
  }
  return undefined
}

t.test('src keeps to the layers', (t) => {
  const sources = readSources('src')
  t.ok(sources['core/index.ts'], 'the sources are there')
  t.ok(Object.values(sources).flatMap(readImports).length > 50, 'their imports are read')
  t.strictSame(checkSources(sources), [])
  t.end()
})

t.test('what tests share needs none of them', (t) => {
  const base = 'file:///test/support/'
  const shared = Object.entries(readSources('test/support')).flatMap(([file, source]) =>
    readImports(source).map((specifier) => [file, new URL(specifier, base + file).pathname]),
  )
  t.ok(shared.length > 20, 'their imports are read')
  t.strictSame(
    shared.filter(([, path]) => path?.startsWith('/test/') && !path.startsWith('/test/support/')),
    [],
  )
  t.end()
})

t.test('the rule itself has no cycle', (t) => {
  const edges = Object.entries(LAYERS).flatMap(([from, layer]) =>
    layer.layers.map((to) => ({ from, to })),
  )
  t.strictSame(findCycles(edges), [])
  t.end()
})

t.test('reads every form of import', (t) => {
  const source = `
import one from 'one'
import { a, b as c } from './two.ts'
import * as three from "three"
import type { D } from 'four'
import {
  e,
  f,
} from 'five'
import 'six'
export { g } from 'seven'
export type { H } from 'eight'
export * from 'nine'
export * as ten from 'ten'
import k, { type L } from 'fifteen'
const eleven = await import('eleven')
type Twelve = import('twelve').Twelve
const thirteen = import(\`thirteen\`)
const unknown = import(name)
const mixed = import(\`./\${name}.ts\`)
`
  t.strictSame(
    readImports(source),
    'one ./two.ts three four five six seven eight nine ten fifteen eleven twelve thirteen ? ?'.split(
      ' ',
    ),
  )
  t.end()
})

t.test('sees no import in comments, strings, templates and regular expressions', (t) => {
  const source = `
// import 'one'
/* export * from 'two' */
const text = "import 'three'"
const template = \`
import 'four'
\`
const quote = /['"\`]/
export const after = 'from'
export class Thing {}
const from = 'five'
`
  t.strictSame(readImports(source), [])
  t.strictSame(readImports(`${source}import 'six'`), ['six'])
  t.end()
})

t.test('names every breach', (t) => {
  const index = { 'core/index.ts': '', 'core/schema/index.ts': '', 'auth/index.ts': '' }
  const breaches: Readonly<Record<string, readonly [sources: Sources, expected: string]>> = {
    'a wrong arrow': [{ 'core/a.ts': "import '../auth/index.ts'" }, 'core may not import auth'],
    'a wrong arrow of types': [
      { 'adapter/a.ts': "import type { A } from '../auth/index.ts'" },
      'adapter may not import auth',
    ],
    'a wrong arrow of a re-export': [
      { 'client/a.ts': "export * from '../auth/index.ts'" },
      'client may not import auth',
    ],
    'a wrong arrow of import()': [
      { 'auth/a.ts': "import('../transport/b.ts')", 'transport/b.ts': '' },
      'auth may not import transport',
    ],
    'core that needs its schemas': [
      { 'core/a.ts': "import './schema/index.ts'" },
      'core may not import core/schema',
    ],
    'errors that know the core': [
      { 'core/errors/a.ts': "import type { B } from '../index.ts'" },
      'core/errors may not import core',
    ],
    'an adapter that knows the embedded server': [
      { 'adapter/a.ts': "import './embedded/b.ts'", 'adapter/embedded/b.ts': '' },
      'adapter may not import adapter/embedded',
    ],
    'an embedded server that knows the core': [
      { 'adapter/embedded/a.ts': "import '../../core/index.ts'" },
      'adapter/embedded may not import core',
    ],
    'node: in core': [{ 'core/a.ts': "import 'node:fs'" }, 'core runs in browsers too'],
    'an old name of node': [{ 'auth/a.ts': "import 'fs'" }, 'may not name this package'],
    'an unlisted package': [{ 'transport/a.ts': "import 'express'" }, 'may not name this package'],
    'a package elsewhere': [{ 'adapter/a.ts': "import 'fastify'" }, 'may not name this package'],
    'a longer name': [{ 'adapter/a.ts': "import 'mongodb-x'" }, 'may not name this package'],
    'the package itself': [{ 'auth/a.ts': "import 'remex/core'" }, 'may not name this package'],
    'a file outside': [{ 'core/a.ts': "import '../../test/b.ts'" }, 'no file of src'],
    'an unknown import()': [{ 'core/a.ts': 'import(name)' }, 'not a plain string'],
    'a folder in no layer': [{ 'other/a.ts': '' }, 'is in no layer'],
    'a name for anything': [{ 'core/helpers.ts': '' }, 'says nothing'],
    'a folder for anything': [{ 'core/utils/a.ts': '' }, 'says nothing'],
    'a long file': [{ 'core/a.ts': '\n'.repeat(321) }, 'has 321 lines'],
    'a cycle between files': [
      {
        'core/a.ts': "import './b.ts'",
        'core/b.ts': "export * from './c.ts'",
        'core/c.ts': "import './a.ts'",
      },
      'core/a.ts → core/b.ts → core/c.ts → core/a.ts',
    ],
    'a file that imports itself': [
      { 'core/a.ts': "export type { A } from './a.ts'" },
      'core/a.ts → core/a.ts',
    ],
    'a cycle of types': [
      {
        'core/a.ts': "import type { B } from './b.ts'",
        'core/b.ts': "export type { A } from './a.ts'",
      },
      'core/a.ts → core/b.ts → core/a.ts',
    ],
    'a cycle that a type closes': [
      {
        'core/a.ts': "import { b } from './b.ts'",
        'core/b.ts': "type A = import('./a.ts').A",
      },
      'core/a.ts → core/b.ts → core/a.ts',
    ],
    'a cycle between a folder and one inside it': [
      {
        'core/a.ts': "import './hooks/b.ts'",
        'core/hooks/b.ts': "import type { A } from '../a.ts'",
      },
      'cycle between files: core/a.ts → core/hooks/b.ts → core/a.ts',
    ],
    'a cycle between folders, types included': [
      {
        'core/hooks/a.ts': "import '../events/b.ts'",
        'core/events/b.ts': "import type { C } from '../hooks/c.ts'",
        'core/hooks/c.ts': '',
      },
      'core/hooks → core/events → core/hooks',
    ],
  }
  for (const [title, [sources, expected]] of Object.entries(breaches)) {
    const problems = checkSources({ ...index, ...sources })
    t.equal(problems.length, 1, title)
    t.match(problems[0], expected, title)
  }
  t.end()
})

t.test('lets pass what is allowed', (t) => {
  const sources = {
    'core/index.ts': "export * from './a.ts'",
    'core/a.ts': "import type { B } from './b.ts'\nimport { c } from './c.ts'",
    'core/b.ts': `import { c } from './c.ts'${'\n'.repeat(320)}`,
    'core/c.ts': '',
    'core/schema/index.ts': "import Ajv from 'ajv/dist/2020.js'\nimport '../index.ts'",
    'auth/index.ts': "import 'node:crypto'\nimport '../core/index.ts'",
    'adapter/embedded/index.ts': "import 'bson'\nimport './commands/find.ts'",
    'adapter/embedded/store.ts': "import 'node:net'",
    'adapter/embedded/commands/find.ts': "import '../store.ts'",
    'transport/index.ts': "import '@fastify/cors'\nimport '../auth/index.ts'",
  }
  t.strictSame(checkSources(sources), [])
  t.end()
})
