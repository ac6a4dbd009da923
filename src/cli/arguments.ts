import { parseArgs } from 'node:util'
import { Refusal } from './refusal.ts'

const DATABASES = ['embedded', 'mongodb'] as const
const PROVIDERS = ['none', 'github'] as const

/** What a project is to have. */
export interface ProjectAnswers {
  readonly name: string
  readonly database: (typeof DATABASES)[number]
  readonly logins: boolean
  readonly oauth: (typeof PROVIDERS)[number]
}

/** What is taken where nothing is said. */
const [database, oauth] = [DATABASES[0], PROVIDERS[0]]
export const DEFAULTS: ProjectAnswers = { name: 'my-app', database, logins: true, oauth }

export const USAGE: string = `npx remex new [name]           makes a project in a folder of this name
  --database embedded|mongodb  what it keeps its records in; embedded needs nothing but Node
  --logins, --no-logins        whether people log in, and records have owners
  --oauth none|github          whether they may log in with GitHub, which needs --logins
  --yes                        asks nothing: the first of these is taken, and the name ${DEFAULTS.name}

npx remex service <path>       adds a service to the project in this folder: its file and its test

npx remex migrate             shows the edits that move the Feathers 5 application in this folder
  --write                     makes them, and lists what is left to you
  --force                     even if git has changes that are not committed`

export type Command =
  | { readonly name: 'help' }
  | { readonly name: 'version' }
  | { readonly name: 'new'; readonly given: Partial<ProjectAnswers>; readonly isAsking: boolean }
  | { readonly name: 'service'; readonly path: string }
  | { readonly name: 'migrate'; readonly write: boolean; readonly force: boolean }

/**
 * Returns what a command line asks for.
 * @throws {Refusal} it has what is not known, or contradicts itself
 */
export function readArguments(words: readonly string[]): Command {
  const [command, ...rest] = words
  if (command === undefined || words.includes('--help')) return { name: 'help' }
  if (command === '--version') return { name: 'version' }
  if (command === 'new') return readNew(rest)
  if (command === 'service') {
    const { positionals } = parse(rest, {})
    const path = readOne(positionals, 'service', 'a path')
    if (path === undefined) throw new Refusal('Say the path: npx remex service notes.')
    return { name: 'service', path }
  }
  if (command === 'migrate') {
    const { values, positionals } = parse(rest, {
      write: { type: 'boolean' },
      force: { type: 'boolean' },
    })
    const [folder] = positionals
    if (folder !== undefined) {
      throw new Refusal(`'${folder}' is too much: migrate edits the application in this folder.`)
    }
    return { name: 'migrate', write: values['write'] === true, force: values['force'] === true }
  }
  throw new Refusal(`There is no command '${command}'. Commands are new, service and migrate.`)
}

function readNew(words: readonly string[]): Command {
  const { values, positionals } = parse(words, {
    database: { type: 'string' },
    logins: { type: 'boolean' },
    oauth: { type: 'string' },
    yes: { type: 'boolean' },
  })
  const name = readOne(positionals, 'new', 'a name')
  const database = readChoice('database', values['database'], DATABASES)
  const oauth = readChoice('oauth', values['oauth'], PROVIDERS)
  // Who logs in with GitHub logs in.
  const logins = values['logins'] ?? (oauth === 'github' || undefined)
  if (oauth === 'github' && logins === false) {
    throw new Refusal('--oauth github needs logins: leave out --no-logins, or take --oauth none.')
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
    // What Node says goes on with how to pass a name that begins with a hyphen, which is none here.
    const [problem] = /^[^.\n]*/.exec((error as Error).message) ?? []
    const list = allowed.map((name) => `--${name}`).join(' ')
    throw new Refusal(
      `${problem}. ${list === '' ? 'There are no options' : `Options are ${list}`}.`,
    )
  }
}

function readOne(positionals: readonly string[], command: string, what: string) {
  const [first, second] = positionals
  if (second === undefined) return first
  throw new Refusal(`'${second}' is too much: after ${command} comes ${what}, and options.`)
}

function readChoice<T extends string>(name: string, value: unknown, allowed: readonly T[]) {
  const choice = allowed.find((one) => one === value)
  if (value === undefined || choice !== undefined) return choice
  throw new Refusal(`--${name} can not be '${value}': take ${allowed.join(' or ')}.`)
}
