// Makes an application by the generator of Feathers, which asks nothing where all answers are given.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The generator names each file that it writes. */
const ignore = () => undefined
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

/**
 * Generates an application into a folder that it makes, and installs nothing. Resolves to the packages
 * that the generator would install, `name@range`.
 * @param tools a folder with `@feathersjs/generators` in its `node_modules`
 * @param framework `koa` or `express`
 * @param schema `typebox` or `json`
 */
export async function generateFeathersApp(tools, folder, framework, schema) {
  const load = (path) => import(pathToFileURL(join(tools, 'node_modules', path)).href)
  const { getContext } = await load('@featherscloud/pinion/lib/index.js')
  const specifiers = []
  const config = {
    cwd: folder,
    logger: { log: ignore, notice: ignore, warn: console.warn, error: console.error },
    async exec(_command, [, ...options]) {
      specifiers.push(...options.filter((option) => !option.startsWith('-')))
      return 0
    },
  }
  mkdirSync(folder)
  const before = process.cwd()
  // Generators look for files of the application from here.
  process.chdir(folder)
  try {
    for (const [name, answers] of Object.entries(STEPS)) {
      const { generate } = await load(`@feathersjs/generators/lib/${name}/index.js`)
      await generate(getContext({ framework, schema, ...answers }, config))
    }
  } finally {
    process.chdir(before)
  }
  writePackages(folder, specifiers.map(toName))
  return specifiers
}

/** Returns the name in `name@range`. */
export const toName = (specifier) => specifier.replace(/(?<=.)@.*/, '')

/** Returns the names of the packages that an application has. */
export function readPackages(folder) {
  return Object.keys(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies)
}

/** Writes the packages of an application into its package.json, a line for each, as npm does. */
export function writePackages(folder, names) {
  const path = join(folder, 'package.json')
  const dependencies = Object.fromEntries([...new Set(names)].sort().map((name) => [name, '*']))
  const content = { ...JSON.parse(readFileSync(path, 'utf8')), dependencies }
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`)
}
