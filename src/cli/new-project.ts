import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import type { ProjectAnswers } from './arguments.ts'
import { Refusal } from './refusal.ts'
import type { Files } from './templates.ts'
import { findSource, readTemplates } from './templates.ts'

/** The names that npm allows for new packages, with an optional scope. */
const NAME = /^(?=.{1,214}$)(?:@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*$/
/** Reserved names of packages or databases, in addition to Node's modules. */
const TAKEN = ['node_modules', 'favicon.ico', 'admin', 'config', 'local']

/** Returns why a project cannot have this name here, `undefined` if it can. */
export function findNameProblem(name: string): string | undefined {
  if (!NAME.test(name)) {
    return `'${name}' is not a valid package name: use lower-case letters, digits, - . _ and ~, up to 214 characters, starting with a letter or digit; a scope may come first, as in @me/my-app.`
  }
  if (isBuiltin(name) || TAKEN.includes(name)) {
    return `The name '${name}' is used by Node, npm or MongoDB: choose another one.`
  }
  const folder = resolve(toFolderName(name))
  if (!existsSync(folder)) return undefined
  try {
    if (readdirSync(folder).length === 0) return undefined
  } catch {
    return `${folder} is not a folder: choose another name, or remove it.`
  }
  return `${folder} is not empty: choose another name, or use an empty folder.`
}

/** Returns the name without its scope. */
const toFolderName = (name: string): string => name.replace(/^.*\//, '')

/**
 * Writes a project, completely or not at all. Returns what to do next.
 * @throws {Refusal} the name is invalid, or the folder is not empty
 */
export function writeProject(answers: ProjectAnswers): string {
  const problem = findNameProblem(answers.name)
  if (problem !== undefined) throw new Refusal(problem)
  const folder = resolve(toFolderName(answers.name))
  const files = createFiles(answers)
  // In the parent folder, so that the project appears by one rename on the same disk.
  const draft = mkdtempSync(join(dirname(folder), '.remex-new-'))
  try {
    // A new folder with normal permissions: only its owner can read a temporary one.
    const project = join(draft, 'project')
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(project, path)), { recursive: true })
      writeFileSync(join(project, path), text)
    }
    // Fails if the folder has been filled in the meantime.
    if (existsSync(folder)) rmdirSync(folder)
    renameSync(project, folder)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return describeNext(answers, Object.keys(files).length)
}

/** Returns the files of a project by their paths. */
function createFiles({ name, database, logins, oauth }: ProjectAnswers): Files {
  const folders = ['base', database, logins ? 'logins' : 'plain']
  if (oauth === 'github') folders.push('github')
  const { 'package.json': text = '', ...others } = readTemplates(folders)
  const manifest = JSON.parse(text)
  manifest.name = name
  manifest.dependencies.remex = findSource()
  const files: Record<string, string> = {
    'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
  }
  // Database names are shorter than package names and allow fewer characters.
  const plainName = toFolderName(name)
    .replace(/[^a-z0-9-]/g, '-')
    .slice(0, 60)
  for (const [path, source] of Object.entries(others)) {
    files[path] = source.replaceAll('my-app', plainName)
  }
  return files
}

function describeNext({ name, database, oauth }: ProjectAnswers, count: number): string {
  const folder = toFolderName(name)
  const mongodb = ['cp .env.example .env', 'docker compose up -d mongodb']
  const start = database === 'mongodb' ? [...mongodb, 'npm run dev'] : ['npm run dev']
  const steps = [`cd ${folder}`, 'npm install', 'npm test', ...start].join('\n  ')
  const page = 'Then open the API page: http://127.0.0.1:3030/docs'
  const github = oauth === 'github' ? '\n.env.example says how to get GITHUB_KEY.' : ''
  return `Created ${count} files in ${folder}. Next:\n\n  ${steps}\n\n${page}${github}`
}
