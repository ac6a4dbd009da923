import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Refusal } from './refusal.ts'
import { readTemplates } from './templates.ts'

const APP = 'src/app.ts'
/** The types of the application, which services add theirs to. Projects of older versions have them in `app.ts`. */
const API = 'src/api.ts'
/** Paths that Remex answers itself, or that are those of logins. */
const TAKEN = ['authentication', 'docs', 'health', 'oauth', 'users']

/**
 * Adds a service to the project in the current folder, all of it or nothing: a file, its test, and two
 * lines in `src/app.ts`, above two lines that say so. Nothing else of that file is read. Returns what to do next.
 * @throws {Refusal} this is no such project, or the service can not have this path
 */
export function writeService(path: string): string {
  if (!/^[a-z](?:[-/]?[a-z0-9])*$/.test(path)) {
    throw new Refusal(
      `'${path}' can not be the path of a service: take lower-case letters and digits, with - or / between them, as in notes or admin/audit-logs.`,
    )
  }
  const [first = ''] = path.split('/')
  if (TAKEN.includes(first))
    throw new Refusal(`'${first}' is what Remex or its logins use: take another path.`)
  if (!existsSync(APP)) {
    throw new Refusal(`There is no ${APP} here: go to the folder of a project of 'npx remex new'.`)
  }
  const fileName = path.replaceAll('/', '-')
  const source = `src/services/${fileName}.ts`
  const test = `test/${fileName}.test.ts`
  for (const file of [source, test]) {
    if (existsSync(file)) throw new Refusal(`${file} is there already: take another path.`)
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
  return `The service ${path} is in ${source}, its test in ${test}, and ${APP} adds it. Try npm test.`
}

/** Returns the application with a service, by a line above each of two marks. */
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
        `${APP} has no line '// remex:${mark}', above which this belongs: ${line}. Put that mark back where it is to stand.`,
      )
    }
    return text.replace(place, (found, indent) => `${indent}${line}${end}${found}`)
  }, app)
}

/** Returns a template, which has a service `messages`, for a service with another path. */
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
