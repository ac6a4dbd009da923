// Proves docs/guides/migrating-from-feathers.md: generates applications with the generator of Feathers in a
// temporary folder, makes the edits that the page shows, compiles the results strictly, runs the tests
// that were generated with them and one of ours on the embedded database, and compares the counts of
// lines with the page. One is edited by `npx remex migrate` instead, which has to do as well.
import { execFile, spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { findFreePort } from './free-port.mjs'
import {
  generateFeathersApp,
  readPackages,
  toName,
  writePackages,
} from './generate-feathers-app.mjs'
import { readCounts, readEdits, readInstalled, readPage } from './migration-page.mjs'
import { PROBE, SCHEMAS_TEST } from './migration-probes.mjs'
import { install, manifest, pack, run, toOuterEnv, withTemporaryFolder } from './packed-package.mjs'

const GENERATOR = '@feathersjs/generators@5.0.50'
/** What is generated, and what of the page is for it, in the order of its counts. */
const KOA = { framework: 'koa', schema: 'typebox', notes: ['with Koa'] }
const EXPRESS = { framework: 'express', schema: 'typebox', notes: ['with Express'] }
const APPLICATIONS = {
  koa: KOA,
  // It is only counted: with more edits it is the next one.
  express: { ...EXPRESS, isCounted: true },
  typebox: withSchemas(EXPRESS, 'for TypeBox'),
  json: withSchemas({ ...KOA, schema: 'json' }, 'for JSON Schema'),
  migrate: { ...EXPRESS, isByProgram: true },
}
/** What developers use beside the application: of no use here. */
const TOOLS = ['@feathersjs/cli', 'cross-env', 'nodemon', 'prettier', 'shx']
/** What the edits for every service are made for, from those for `messages`. */
const SERVICES = [
  (text) => text,
  (text) => text.replaceAll('message', 'user').replaceAll('Message', 'User'),
]
/** What makes the compiler look away. */
const ESCAPE = /\bany\b|@ts-|\bas (unknown|never)\b/g
const MODULES = ['assert', 'http', 'node:path', 'path']

const page = readPage()
const installed = readInstalled(page)

/** Returns what an application is that takes its schemas from here as well. */
function withSchemas(application, note) {
  const notes = [...application.notes, 'for both kinds of schemas', note]
  return { ...application, notes, hasSchemas: true }
}

/** Returns a copy of a generated application with the edits of the page. */
function port(original, folder, { notes, hasSchemas, isByProgram }) {
  cpSync(original, folder, { recursive: true })
  const removed = [...installed.removed, ...(hasSchemas ? installed.ofSchemas : [])]
  const kept = readPackages(folder).filter((name) => !removed.includes(name))
  writePackages(folder, [...kept, ...installed.added])
  if (isByProgram) {
    const program = join('../node_modules', manifest.name, manifest.bin.remex)
    return run(process.execPath, [program, 'migrate', '--write', '--force'], folder)
  }
  for (const edit of readEdits(page, notes, SERVICES)) applyEdit(folder, edit)
}

/** Makes one edit of the page. */
function applyEdit(folder, { path, text, from, to }) {
  const file = join(folder, path)
  const [given, taken] = [text ?? to, from ?? ''].map((one) => one.match(ESCAPE)?.length ?? 0)
  if (given > taken) throw new Error(`${path} is given what the compiler does not check`)
  if (text !== undefined) return writeFileSync(file, text, { flag: 'wx' })
  const [before, after, ...others] = `\n${readText(file)}`.split(`\n${from}\n`)
  if (after === undefined || others.length > 0) {
    throw new Error(`${path} has this ${after === undefined ? 'nowhere' : 'twice'}:\n${from}`)
  }
  writeFileSync(file, [before, ...(to === '' ? [] : [to]), after].join('\n').slice(1))
}

/** Returns the numbers that the page has to state: files, lines added, lines removed, all lines. */
function countLines(original, folder) {
  const options = ['diff', '--no-index', '--no-renames', '--numstat', original, folder]
  const { stdout } = spawnSync('git', options, { encoding: 'utf8' })
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t').map(Number))
  const sum = (column) => rows.reduce((total, row) => total + row[column], 0)
  const lines = readSources(original).flatMap((text) => text.trimEnd().split('\n'))
  return [rows.length, sum(0), sum(1), lines.length]
}

const readText = (file) => readFileSync(file, 'utf8').replaceAll('\r', '')

/** Returns the texts of all files in `src` and `test`. */
function readSources(folder) {
  return ['src', 'test'].flatMap((part) =>
    readdirSync(join(folder, part), { recursive: true })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readText(join(folder, part, file))),
  )
}

/** Throws when a source imports a package that the application does not have any more. */
function checkImports(folder) {
  const known = [...readPackages(folder), ...MODULES]
  for (const text of readSources(folder)) {
    for (const [line, name] of text.matchAll(/from '(@[^'/]+\/[^'/]+|[^'./@][^'/]*).*/g)) {
      if (!known.includes(name)) throw new Error(`A package that is removed is imported: ${line}`)
    }
  }
}

/** Compiles an application with its tests, by the compiler and the options that it has. */
function checkTypes(folder) {
  const config = {
    extends: './tsconfig.json',
    compilerOptions: { rootDir: '.', noEmit: true },
    include: ['src', 'test'],
    exclude: [],
  }
  const project = join(folder, 'tsconfig.check.json')
  writeFileSync(project, JSON.stringify(config))
  writeFileSync(join(folder, 'src/probe.ts'), PROBE)
  writeFileSync(join(folder, 'test/schemas.test.ts'), SCHEMAS_TEST)
  try {
    run(process.execPath, ['../node_modules/typescript/bin/tsc', '-p', project], folder)
  } catch (error) {
    throw new Error(`The application does not compile:\n${error.stdout}`)
  }
}

/** Runs the tests of an application. Resolves to how many have passed. */
async function runTests(folder, database) {
  const options = [
    ...['test/', '--recursive', '--extension', '.ts', '--require', 'ts-node/register', '--exit'],
    // Its own two seconds are too few for the hashes of passwords on a machine with other work.
    ...['--reporter', 'tap', '--timeout', '120000'],
  ]
  const env = {
    ...toOuterEnv(),
    NODE_ENV: 'test',
    NODE_CONFIG: JSON.stringify({ mongodb: `mongodb://${new URL(database.url).host}/chat` }),
    PORT: String(await findFreePort()),
    // The host of the generated configuration; containers set it to a name of theirs.
    HOSTNAME: 'localhost',
    // The compiler has been there before.
    TS_NODE_TRANSPILE_ONLY: 'true',
  }
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['../node_modules/mocha/bin/mocha.js', ...options],
    { cwd: folder, env },
  ).catch((error) => {
    throw new Error(`Tests of the application have failed:\n${error.stdout}${error.stderr}`)
  })
  const passed = Number(/^# pass (\d+)$/m.exec(stdout)?.[1])
  if (!(passed > 0)) throw new Error(`The application has no tests:\n${stdout}`)
  return passed
}

await withTemporaryFolder(async (folder) => {
  const tools = join(folder, 'tools')
  install(tools, {}, [GENERATOR], '--ignore-scripts')
  const toOriginal = ({ framework, schema }) => join(folder, `${framework}-${schema}`)
  const specifiers = [pack(folder), ...installed.added.filter((name) => name !== manifest.name)]
  for (const application of Object.values(APPLICATIONS)) {
    const original = toOriginal(application)
    if (existsSync(original)) continue
    const { framework, schema } = application
    specifiers.push(...(await generateFeathersApp(tools, original, framework, schema)))
  }
  const ported = join(folder, 'ported')
  const unused = [...TOOLS, ...installed.removed]
  const used = specifiers.filter((specifier) => !unused.includes(toName(specifier)))
  install(ported, {}, [...new Set(used)], '--ignore-scripts')

  const entry = join(ported, 'node_modules', manifest.name, manifest.exports['./embedded'].default)
  const { startEmbeddedMongo } = await import(pathToFileURL(entry).href)
  const stated = readCounts(page)
  for (const [index, [name, application]] of Object.entries(APPLICATIONS).entries()) {
    const original = toOriginal(application)
    const copy = join(ported, name)
    port(original, copy, application)
    const counts = countLines(original, copy)
    checkImports(copy)
    if (!application.isCounted) {
      checkTypes(copy)
      const database = await startEmbeddedMongo()
      const passed = await runTests(copy, database).finally(() => database.close())
      console.log(`ok - ${name}: ${passed} tests`)
    }
    if (application.isByProgram) continue
    const [files, added, removed, lines] = counts
    console.log(
      `ok - ${name}: ${files} files, ${added} lines added and ${removed} removed, of ${lines}`,
    )
    if (String(counts) !== String(stated[index])) {
      throw new Error(`The page states other numbers for ${name}: ${stated[index]}`)
    }
  }
})
