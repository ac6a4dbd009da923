import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Refusal } from '../refusal.ts'
import { editSource } from './feathers-edits.ts'
import { REPLACED } from './import-edits.ts'
import type { SourceFile } from './source-file.ts'

export interface MigrationOptions {
  /** Whether to write the edits; else they are only shown. */
  readonly write: boolean
  /** Whether to write files that git could not restore. */
  readonly force: boolean
}

const FOLDERS = ['src', 'test']

/** Returns the file that starts and stops the application for all test files, if they no longer do so. */
function createTestServer(
  changed: readonly SourceFile[],
): readonly [path: string, text: string] | undefined {
  const starts = ({ text }: { readonly text: string }) => /\bapp\.listen\(/.test(text)
  const test = changed.find((file) => starts(file) && !starts({ text: file.result }))
  const [app] =
    /import \{ app \} from (['"])\.\.\/src\/app(?:\.\w+)?\1/.exec(test?.text ?? '') ?? []
  if (test === undefined || app === undefined) return undefined
  const text = `${app}\n\nbefore(() => app.listen(app.get('port'), app.get('host')))\nafter(() => app.teardown())\n`
  const path = `test/server${test.path.slice(test.path.lastIndexOf('.'))}`
  return existsSync(path) ? undefined : [path, text]
}

/**
 * Edits the Feathers application in the current folder, or shows the edits. Returns what changed, what is
 * left to the user, and what to do next.
 * @throws {Refusal} this is not such an application, or git could not restore the files
 */
export function migrateApplication({ write, force }: MigrationOptions): string {
  const manifest = readManifest()
  if (write && !force) checkGit()
  const edited = readSources().map((path) => editSource(path, readFileSync(path, 'utf8')))
  const changed = edited.filter(({ editCount }) => editCount > 0)
  const server = createTestServer(changed.filter(({ path }) => path.startsWith('test/')))
  if (write) {
    for (const { path, result } of changed) writeFileSync(path, result)
    if (server !== undefined) writeFileSync(...server, { flag: 'wx' })
  }
  // Line numbers are those of the files on disk.
  const left = write ? edited.map(({ path, result }) => editSource(path, result)) : edited
  const count = changed.reduce((sum, { editCount }) => sum + editCount, 0)
  const total = `${count} edits in ${changed.length} files${server === undefined ? '' : `, and the new file ${server[0]}`}.`
  return [
    ...(write ? [] : changed.map((file) => `--- ${file.path}\n${file.describe()}`)),
    ...describeLeft(left, manifest),
    `${total} ${write ? 'They are written.' : 'Nothing was written: add --write.'}`,
    ...describeNext(manifest, edited),
  ].join('\n')
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

type Packages = Readonly<Record<string, string>>

/** Returns the packages of the application, with the ranges of their versions. */
function readManifest(): Packages {
  if (!existsSync('package.json')) {
    throw new Refusal(
      'There is no package.json here: go to the folder of the application.',
      'WRONG_FOLDER',
    )
  }
  const { dependencies, devDependencies }: Manifest = JSON.parse(
    readFileSync('package.json', 'utf8'),
  )
  const packages = { ...devDependencies, ...dependencies }
  const version = packages['@feathersjs/feathers']
  if (version === undefined) {
    throw new Refusal(
      'package.json does not list @feathersjs/feathers: this is not a Feathers application.',
      'WRONG_FOLDER',
    )
  }
  if (isOlder(version, 5)) {
    throw new Refusal(
      `@feathersjs/feathers is ${version}: migrate to version 5 first, by the Feathers guide.`,
      'WRONG_FOLDER',
    )
  }
  return packages
}

/** Whether a range begins below a version. Ranges without numbers, such as `latest`, do not. */
function isOlder(range: string, major: number, minor = 0): boolean {
  const [, first, second = '0'] = /(\d+)(?:\.(\d+))?/.exec(range) ?? []
  if (first === undefined) return false
  return Number(first) < major || (Number(first) === major && Number(second) < minor)
}

/** @throws {Refusal} there are uncommitted changes */
function checkGit(): void {
  let status: string
  try {
    status = execFileSync('git', ['status', '--porcelain', '--', '.'], {
      encoding: 'utf8',
      stdio: 'pipe',
    })
  } catch {
    throw new Refusal(
      'There is no git repository here to restore files from. Create one and commit, or add --force.',
      'UNSAVED_CHANGES',
    )
  }
  if (status !== '') {
    throw new Refusal(
      'There are uncommitted changes here. Commit them first, or add --force.',
      'UNSAVED_CHANGES',
    )
  }
}

/** Returns the paths of the files that may be edited. */
function readSources(): string[] {
  const folders = FOLDERS.filter((name) =>
    lstatSync(name, { throwIfNoEntry: false })?.isDirectory(),
  )
  const sources = folders.flatMap(findSources)
  return ['tsconfig.json', ...sources.toSorted()].filter(existsSync)
}

/** Returns the source files in a folder. Symbolic links are not followed: their targets may be outside the application. */
function findSources(folder: string): string[] {
  // Not with `recursive`: since 24.21, Node follows links then.
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : findSources(path)
    return entry.isFile() && /(?<!\.d)\.[cm]?[jt]s$/.test(entry.name) ? [path] : []
  })
}

function describeLeft(files: readonly SourceFile[], packages: Packages): string[] {
  const left = files.flatMap((file) =>
    file.notes.map(({ index, text }) => `  ${file.path}:${file.lineAt(index)}: ${text}`),
  )
  for (const [name, text] of Object.entries(PACKAGES)) {
    if (name in packages) left.push(`  package.json: ${name}: ${text}`)
  }
  return left.length === 0 ? [] : ['Left to you:', ...left, '']
}

/** Packages that need attention with Remex. */
const PACKAGES: Packages = {
  'feathers-authentication-management':
    "set local: { hash: 'bcrypt' } in the setting authentication",
  'feathers-swagger': 'works only with Express and Koa: use openapi()',
  'feathers-mongoose': 'not tried with Remex: a MongoDBService can serve the same collections',
}

/** Returns the commands that change the packages. */
function describeNext(packages: Packages, files: readonly SourceFile[]): string[] {
  const removed = [...REPLACED, 'compression'].filter((name) => name in packages)
  const used = ['remex', 'fastify']
  if (files.some(({ code }) => /\bserveStatic\b/.test(code))) used.push('@fastify/static')
  if ('@feathersjs/configuration' in packages) used.push('config')
  const added = used.filter((name) => !(name in packages))
  if ('@feathersjs/socketio' in packages) added.push('socket.io@4')
  const { mongodb = 'latest', typescript = 'latest' } = packages
  if (isOlder(mongodb, 6, 22)) added.push('mongodb@^6.22.0')
  const commands = [
    removed.length === 0 ? '' : `npm uninstall ${removed.join(' ')}`,
    added.length === 0 ? '' : `npm install ${added.join(' ')}`,
    isOlder(typescript, 5, 8) ? 'npm install --save-dev typescript@^5.9.0' : '',
  ].filter((command) => command !== '')
  return commands.length === 0 ? [] : ['Then run:', ...commands.map((command) => `  ${command}`)]
}
