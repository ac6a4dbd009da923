import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Refusal } from './refusal.ts'
import { readTemplates } from './templates.ts'

const APP = 'src/app.ts'
/** The types of the application, to which services add theirs. Older projects have them in `app.ts`. */
const API = 'src/api.ts'
/** Paths that Remex serves itself, or that logins use. */
const TAKEN = ['authentication', 'docs', 'health', 'oauth', 'users']

/**
 * Adds a service to the project in the current folder, completely or not at all: a file, its test, and two
 * lines in `src/app.ts`, each above a mark. Nothing else in that file is read. Returns what to do next.
 * @throws {Refusal} this is not such a project, or the path is invalid or taken
 */
export function writeService(path: string): string {
  if (!/^[a-z](?:[-/]?[a-z0-9])*$/.test(path)) {
    throw new Refusal(
      `'${path}' is not a valid service path: use lower-case letters and digits, with - or / between them, as in notes or admin/audit-logs.`,
    )
  }
  const [first = ''] = path.split('/')
  if (TAKEN.includes(first))
    throw new Refusal(`The path '${first}' is used by Remex or its logins: choose another one.`)
  if (!existsSync(APP)) {
    throw new Refusal(
      `There is no ${APP} here: go to the folder of a project made by 'npx remex new'.`,
      'WRONG_FOLDER',
    )
  }
  const fileName = path.replaceAll('/', '-')
  const source = `src/services/${fileName}.ts`
  const test = `test/${fileName}.test.ts`
  for (const file of [source, test]) {
    if (existsSync(file))
      throw new Refusal(`${file} already exists: choose another path.`, 'FILE_EXISTS')
  }
  const templates = readTemplates([existsSync('src/services/users.ts') ? 'logins' : 'plain'])
  const app = addLines(readFileSync(APP, 'utf8'), fileName, path)
  const written: string[] = []
  try {
    for (const file of [source, test]) {
      const template = templates[file.replace(fileName, 'messages')] ?? ''
      const text = existsSync(API) ? template : template.replaceAll("'../api.ts'", "'../app.ts'")
      writeFileSync(file, renameService(text, path), { flag: 'wx' })
      written.push(file)
    }
    writeFileSync(APP, app)
  } catch (error) {
    for (const file of written) rmSync(file)
    throw error
  }
  return `Added the service ${path}: ${source}, its test ${test}, and two lines in ${APP}. Run npm test.`
}

/** Returns the application with a service: adds a line above each of two marks. */
function addLines(app: string, fileName: string, path: string): string {
  const name = `add${toPascalCase(path)}`
  const lines = {
    imports: `import { ${name} } from './services/${fileName}.ts'`,
    services: `${name}(app, db)`,
  }
  const end = app.includes('\r\n') ? '\r\n' : '\n'
  return Object.entries(lines).reduce((text, [mark, line]) => {
    const place = new RegExp(`^([ \\t]*)// remex:${mark}\\b`, 'm')
    if (!place.test(text)) {
      throw new Refusal(
        `${APP} has no line '// remex:${mark}' to insert this above: ${line}. Put the mark back where this line belongs.`,
        'MARK_MISSING',
      )
    }
    return text.replace(place, (found, indent) => `${indent}${line}${end}${found}`)
  }, app)
}

/** Returns a template of the service `messages`, renamed for another path. */
function renameService(template: string, path: string): string {
  const pascal = toPascalCase(path)
  const camel = pascal.charAt(0).toLowerCase() + pascal.slice(1)
  return template
    .replaceAll('Messages', pascal)
    .replaceAll('messagesOptions', `${camel}Options`)
    .replace('messages: Served', camel === path ? `${path}: Served` : `'${path}': Served`)
    .replaceAll('messages', path)
}

function toPascalCase(path: string): string {
  return path.replace(/(?:^|[-/])(.)/g, (_, letter: string) => letter.toUpperCase())
}
