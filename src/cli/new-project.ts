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
import { readTemplates, VERSION } from './templates.ts'

/** What npm allows for new packages; a scope may stand before the name. */
const NAME = /^(?=.{1,214}$)(?:@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*$/
/** What is no name of a package or of a database, besides the modules of Node. */
const TAKEN = ['node_modules', 'favicon.ico', 'admin', 'config', 'local']

/** Returns why no project can have this name here, `undefined` when one can. */
export function findNameProblem(name: string): string | undefined {
  if (!NAME.test(name)) {
    return `'${name}' can not be the name of a package: take lower-case letters, digits, - . _ and ~, up to 214, beginning with a letter or digit; a scope may stand before it, as in @me/my-app.`
  }
  if (isBuiltin(name) || TAKEN.includes(name)) {
    return `'${name}' is a name that Node, npm or MongoDB use: take another one.`
  }
  const folder = resolve(toFolderName(name))
  if (!existsSync(folder)) return undefined
  try {
    if (readdirSync(folder).length === 0) return undefined
  } catch {
    return `${folder} is no folder: take another name, or remove it.`
  }
  return `${folder} is not empty: take another name, or an empty folder.`
}

/** Returns the name without its scope. */
const toFolderName = (name: string): string => name.replace(/^.*\//, '')

/**
 * Writes a project, all of it or nothing. Returns what to do next.
 * @throws {Refusal} the name, or what is in the folder, does not allow it
 */
export function writeProject(answers: ProjectAnswers): string {
  const problem = findNameProblem(answers.name)
  if (problem !== undefined) throw new Refusal(problem)
  const folder = resolve(toFolderName(answers.name))
  const files = createFiles(answers)
  // Beside its place, so that one rename on the same disk is all that can be seen of it.
  const draft = mkdtempSync(join(dirname(folder), '.remex-new-'))
  try {
    // As any other folder: a temporary one is for its owner alone.
    const project = join(draft, 'project')
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(project, path)), { recursive: true })
      writeFileSync(join(project, path), text)
    }
    // Refuses a folder that has been filled meanwhile.
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
  manifest.dependencies.remex = `^${VERSION}`
  const files: Record<string, string> = {
    'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
  }
  // The name of a database has fewer characters, and fewer kinds of them, than that of a package.
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
  const page = 'The page of the API is at http://127.0.0.1:3030/docs then.'
  const github = oauth === 'github' ? '\n.env.example says where GITHUB_KEY comes from.' : ''
  return `${count} files are in ${folder}. Go on with:\n\n  ${steps}\n\n${page}${github}`
}
