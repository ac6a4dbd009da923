// Proves docs/guides/migrating-from-feathers.md: generates applications with the generator of Feathers in a
// temporary folder, makes the edits that the page shows, compiles the results strictly, runs the tests
// that were generated with them and one of ours on the embedded database, and compares the counts of
// lines with the page. One is edited by `npx remex migrate` instead, which has to do as well.
//
// An edit is the file in bold above a fenced block, `diff` (see page-blocks.mjs) or `ts` for a new file. Behind the
// name may stand `with Koa` or `with Express`, `for TypeBox`, `for JSON Schema` or `for both kinds of schemas`, and
// `, in every service`, whose block is written for `messages`.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PROBE, SCHEMAS_TEST } from './migration-probes.mjs'
import {
  findPort,
  install,
  manifest,
  Program,
  pack,
  run,
  startDatabase,
  withTemporaryFolder,
} from './outside.mjs'
import { applyDiff } from './page-blocks.mjs'

const read = (file) => readFileSync(file, 'utf8').replaceAll('\r', '')
const PAGE = read('docs/guides/migrating-from-feathers.md')
const BLOCK = /^\*\*`([^`\n]+)`\*\*([^\n]*)\n\n```(diff|ts)\n([\s\S]*?)^```$/gm
const COUNTS = /(\d+) files?, (\d+) lines? added and (\d+) removed, of ([\d,]+)/g
const SCHEMAS = ['for both kinds of schemas']

const GENERATOR = '@feathersjs/generators@5.0.50'
/** The generators in their order, and what they would ask. */
const STEPS = {
  app: {
    ...{ name: 'chat', description: 'A chat', language: 'ts', packager: 'npm', client: true },
    ...{ transports: ['rest'], database: 'mongodb' },
    connectionString: 'mongodb://127.0.0.1:27017/chat',
  },
  authentication: { type: 'mongodb', authStrategies: ['local'], service: 'user', path: 'users' },
  service: { type: 'mongodb', name: 'message', path: 'messages', authentication: true },
}
/** What is generated, and what of the page is for it, in the order of its counts; by the program without notes. */
const APPLICATIONS = {
  koa: ['koa', 'typebox', 'with Koa'],
  // It is only counted: with more edits it is the next one.
  express: ['express', 'typebox', 'with Express'],
  typebox: ['express', 'typebox', 'with Express', ...SCHEMAS, 'for TypeBox'],
  json: ['koa', 'json', 'with Koa', ...SCHEMAS, 'for JSON Schema'],
  migrate: ['express', 'typebox'],
}
/** What developers use beside the application: of no use here. */
const TOOLS = ['@feathersjs/cli', 'cross-env', 'nodemon', 'prettier', 'shx']
/** What makes the compiler look away. */
const ESCAPE = /\bany\b|@ts-|\bas (unknown|never)\b/g

/** Returns the packages that each command of the page names. */
const readPackages = (command) =>
  [...PAGE.matchAll(new RegExp(`^npm ${command} (.*?[^\\\\])$`, 'gms'))].map(([, names]) =>
    names.split(/[\s\\]+/),
  )
const [removed, ofSchemas] = readPackages('uninstall')
const added = readPackages('install').flat()

/** Returns the name in `name@range`. */
const toName = (specifier) => specifier.replace(/(?<=.)@.*/, '')

/** Writes the packages of an application into its package.json, a line for each, as npm does. */
function writePackages(folder, names) {
  const path = join(folder, 'package.json')
  const dependencies = Object.fromEntries([...new Set(names)].sort().map((name) => [name, '*']))
  writeFileSync(path, `${JSON.stringify({ ...JSON.parse(read(path)), dependencies }, null, 2)}\n`)
}

/** Generates an application. Resolves to the packages that the generator would install, `name@range`. */
async function generate(tools, folder, framework, schema) {
  const load = (path) => import(pathToFileURL(join(tools, 'node_modules', path)).href)
  const { getContext } = await load('@featherscloud/pinion/lib/index.js')
  const specifiers = []
  const { warn, error } = console
  const ignore = () => undefined
  const config = {
    cwd: folder,
    logger: { log: ignore, notice: ignore, warn, error },
    async exec(_command, [, ...options]) {
      specifiers.push(...options.filter((option) => !option.startsWith('-')))
      return 0
    },
  }
  mkdirSync(folder)
  const before = process.cwd()
  // Generators look for files of the application from here.
  process.chdir(folder)
  for (const [name, answers] of Object.entries(STEPS)) {
    const { generate } = await load(`@feathersjs/generators/lib/${name}/index.js`)
    await generate(getContext({ framework, schema, ...answers }, config))
  }
  process.chdir(before)
  writePackages(folder, specifiers.map(toName))
  return specifiers
}

/** Makes the edits of the page, or of the program, in a copy of a generated application. */
function port(original, folder, notes) {
  cpSync(original, folder, { recursive: true })
  const gone = [...removed, ...(notes.includes(SCHEMAS[0]) ? ofSchemas : [])]
  const { dependencies } = JSON.parse(read(join(folder, 'package.json')))
  const kept = Object.keys(dependencies).filter((name) => !gone.includes(name))
  writePackages(folder, [...kept, ...added])
  if (notes.length === 0) {
    const program = join('../node_modules', manifest.name, manifest.bin.remex)
    return run(process.execPath, [program, 'migrate', '--write', '--force'], folder)
  }
  for (const [, path, note, language, code] of PAGE.matchAll(BLOCK)) {
    const [, only] = /^ ((?:with|for) [^,]+)/.exec(note) ?? []
    if (only !== undefined && !notes.includes(only)) continue
    const names = note.includes('in every service') ? ['message', 'user'] : ['message']
    for (const name of names) {
      const rename = (text) =>
        text
          .replaceAll('message', name)
          .replaceAll('Message', name[0].toUpperCase() + name.slice(1))
      applyEdit(join(folder, rename(path)), language, rename(code))
    }
  }
}

function applyEdit(file, language, code) {
  const count = (sign) =>
    code
      .match(new RegExp(`^${sign}.*`, 'gm'))
      ?.join()
      .match(ESCAPE)?.length ?? 0
  if (language === 'ts' ? count('') > 0 : count('\\+') > count('-')) {
    throw new Error(`${file} is given what the compiler does not check`)
  }
  if (language === 'ts') writeFileSync(file, code, { flag: 'wx' })
  else writeFileSync(file, applyDiff(read(file), code, file))
}

/** Returns the texts of all files in `src` and `test`. */
const readSources = (folder) =>
  ['src', 'test'].flatMap((part) =>
    readdirSync(join(folder, part), { recursive: true })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => read(join(folder, part, file))),
  )

/** Returns the numbers that the page has to state: files, lines added, lines removed, all lines. */
function countLines(original, folder) {
  const options = ['diff', '--no-index', '--no-renames', '--numstat', original, folder]
  const rows = spawnSync('git', options, { encoding: 'utf8' }).stdout.trim().split('\n')
  const sum = (column) => rows.reduce((total, row) => total + Number(row.split('\t')[column]), 0)
  const lines = readSources(original).flatMap((text) => text.trimEnd().split('\n'))
  return [rows.length, sum(0), sum(1), lines.length]
}

/** Throws when a source imports a package that the application does not have any more. */
function checkImports(folder) {
  const { dependencies } = JSON.parse(read(join(folder, 'package.json')))
  const known = [...Object.keys(dependencies), 'assert', 'http', 'node:path', 'path']
  for (const text of readSources(folder)) {
    for (const [line, name] of text.matchAll(/from '(@[^'/]+\/[^'/]+|[^'./@][^'/]*).*/g)) {
      if (!known.includes(name)) throw new Error(`A package that is removed is imported: ${line}`)
    }
  }
}

/** Compiles an application by the compiler and the options that it has, and runs its tests, and ours. */
async function test(folder) {
  const options = { rootDir: '.', noEmit: true }
  const config = { extends: './tsconfig.json', compilerOptions: options, include: ['src', 'test'] }
  writeFileSync(join(folder, 'tsconfig.check.json'), JSON.stringify({ ...config, exclude: [] }))
  writeFileSync(join(folder, 'src/probe.ts'), PROBE)
  writeFileSync(join(folder, 'test/schemas.test.ts'), SCHEMAS_TEST)
  const compiler = '../node_modules/typescript/bin/tsc'
  run(process.execPath, [compiler, '-p', 'tsconfig.check.json'], folder)
  const database = await startDatabase(join(folder, '..'))
  const variables = {
    NODE_ENV: 'test',
    NODE_CONFIG: JSON.stringify({ mongodb: `mongodb://${new URL(database.url).host}/chat` }),
    PORT: String(await findPort()),
    // The host of the generated configuration; containers set it to a name of theirs.
    HOSTNAME: 'localhost',
    // The compiler has been there before.
    TS_NODE_TRANSPILE_ONLY: 'true',
  }
  const words = [
    ...['../node_modules/mocha/bin/mocha.js', 'test/', '--recursive', '--extension', '.ts'],
    // Its own two seconds are too few for the hashes of passwords on a machine with other work.
    ...['--require', 'ts-node/register', '--exit', '--reporter', 'tap', '--timeout', '120000'],
  ]
  try {
    const mocha = new Program(folder, variables, `exec node ${words.join(' ')}`)
    const printed = await mocha.finish(`the test of ${folder}`)
    const passed = Number(/^# pass (\d+)$/m.exec(printed)?.[1])
    if (!(passed > 0)) throw new Error(`The application has no tests:\n${printed}`)
    return passed
  } finally {
    await database.close()
  }
}

await withTemporaryFolder(async (folder) => {
  const tools = join(folder, 'tools')
  install(tools, {}, [GENERATOR], '--ignore-scripts')
  const toOriginal = ([framework, schema]) => join(folder, `${framework}-${schema}`)
  const specifiers = [pack(folder), ...added.filter((name) => name !== manifest.name)]
  for (const application of Object.values(APPLICATIONS)) {
    const original = toOriginal(application)
    if (existsSync(original)) continue
    specifiers.push(...(await generate(tools, original, ...application.slice(0, 2))))
  }
  const ported = join(folder, 'ported')
  const unused = [...TOOLS, ...removed]
  const used = specifiers.filter((specifier) => !unused.includes(toName(specifier)))
  install(ported, {}, [...new Set(used)], '--ignore-scripts')

  const stated = [...PAGE.matchAll(COUNTS)].map(([, ...counts]) =>
    counts.map((count) => count.replace(',', '')).join(),
  )
  for (const [index, [name, application]] of Object.entries(APPLICATIONS).entries()) {
    const original = toOriginal(application)
    const copy = join(ported, name)
    port(original, copy, application.slice(2))
    const counts = String(countLines(original, copy))
    checkImports(copy)
    if (name !== 'express') console.log(`ok - ${name}: ${await test(copy)} tests`)
    if (name !== 'migrate' && counts !== stated[index]) {
      throw new Error(`The page states other numbers for ${name} than ${counts}: ${stated[index]}`)
    }
  }
})
