import { parseArgs } from 'node:util'
import { Refusal } from './refusal.ts'

const DATABASES = ['embedded', 'mongodb'] as const
const PROVIDERS = ['none', 'github'] as const

/** The choices for a new project. */
export interface ProjectAnswers {
  readonly name: string
  readonly database: (typeof DATABASES)[number]
  readonly logins: boolean
  readonly oauth: (typeof PROVIDERS)[number]
}

/** The defaults. */
const [database, oauth] = [DATABASES[0], PROVIDERS[0]]
export const DEFAULTS: ProjectAnswers = { name: 'my-app', database, logins: true, oauth }

export const USAGE: string = `npx remex new [name]           creates a project in a folder of that name
  --database embedded|mongodb  where records are stored; embedded needs only Node
  --logins, --no-logins        whether users log in, and records have owners
  --oauth none|github          whether users can log in with GitHub; needs --logins
  --yes                        uses the defaults without asking: the first values above, and ${DEFAULTS.name}

npx remex service <path>       adds a service to the project in this folder: its file and its test

npx remex migrate             shows the edits that migrate the Feathers 5 application in this folder
  --write                     writes them, and lists what is left to you
  --force                     writes even if git has uncommitted changes`

export type Command =
  | { readonly name: 'help' }
  | { readonly name: 'version' }
  | { readonly name: 'new'; readonly given: Partial<ProjectAnswers>; readonly isAsking: boolean }
  | { readonly name: 'service'; readonly path: string }
  | { readonly name: 'migrate'; readonly write: boolean; readonly force: boolean }

/**
 * Returns the command of a command line.
 * @throws {Refusal} it has an unknown command or option, or contradicts itself
 */
export function readArguments(words: readonly string[]): Command {
  const [command, ...rest] = words
  if (command === undefined || words.includes('--help')) return { name: 'help' }
  if (command === '--version') return { name: 'version' }
  if (command === 'new') return readNew(rest)
  if (command === 'service') {
    const { positionals } = parse(rest, {})
    const path = readOne(positionals, 'service', 'path')
    if (path === undefined) throw new Refusal('The path is missing, as in npx remex service notes.')
    return { name: 'service', path }
  }
  if (command === 'migrate') {
    const { values, positionals } = parse(rest, {
      write: { type: 'boolean' },
      force: { type: 'boolean' },
    })
    const [folder] = positionals
    if (folder !== undefined) {
      throw new Refusal(
        `Unexpected argument '${folder}': migrate edits the application in this folder.`,
      )
    }
    return { name: 'migrate', write: values['write'] === true, force: values['force'] === true }
  }
  throw new Refusal(`Unknown command '${command}'. Commands are new, service and migrate.`)
}

function readNew(words: readonly string[]): Command {
  const { values, positionals } = parse(words, {
    database: { type: 'string' },
    logins: { type: 'boolean' },
    oauth: { type: 'string' },
    yes: { type: 'boolean' },
  })
  const name = readOne(positionals, 'new', 'name')
  const database = readChoice('database', values['database'], DATABASES)
  const oauth = readChoice('oauth', values['oauth'], PROVIDERS)
  // GitHub logins imply logins.
  const logins = values['logins'] ?? (oauth === 'github' || undefined)
  if (oauth === 'github' && logins === false) {
    throw new Refusal('--oauth github needs logins: remove --no-logins, or use --oauth none.')
  }
  const said = Object.entries({ name, database, logins, oauth }).filter(
    ([, value]) => value != null,
  )
  return { name: 'new', given: Object.fromEntries(said), isAsking: values['yes'] !== true }
}

type Flags = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>

function parse(words: readonly string[], options: Flags) {
  const names = Object.keys(options)
  const allowed = [...names, ...(names.includes('logins') ? ['no-logins'] : [])]
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, allowNegative: true })
  } catch (error) {
    // Node's message continues with how to pass a value that begins with a hyphen, which does not apply here.
    const [problem] = /^[^.\n]*/.exec((error as Error).message) ?? []
    const list = allowed.map((name) => `--${name}`).join(' ')
    throw new Refusal(
      `${problem}. ${list === '' ? 'This command has no options' : `Options are ${list}`}.`,
    )
  }
}

function readOne(positionals: readonly string[], command: string, what: string) {
  const [first, second] = positionals
  if (second === undefined) return first
  throw new Refusal(`Unexpected argument '${second}': ${command} takes one ${what}.`)
}

function readChoice<T extends string>(name: string, value: unknown, allowed: readonly T[]) {
  const choice = allowed.find((one) => one === value)
  if (value === undefined || choice !== undefined) return choice
  throw new Refusal(`--${name} cannot be '${value}': use ${allowed.join(' or ')}.`)
}
