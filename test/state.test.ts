import t from 'tap'
import type { Sources } from './support/source-imports.ts'
import { readSources, toCode } from './support/source-imports.ts'

/**
 * What all applications of a process share although it changes, each with the reason why it belongs to none of
 * them. The list may only become shorter.
 */
const SHARED: Readonly<Record<string, string>> = {
  'core/errors/service-error.ts expectedStackFrames':
    'a setting that programs change, as that of Error',
  'core/events/event-gate.ts EVENT_GATE':
    'a transaction holds back the events of calls to applications that know nothing of it',
  'core/external-form.ts NOTES':
    'a record whose fields one application hides may be sent by another',
  'core/function-metadata.ts METADATA': 'a hook belongs to no application before it is registered',
  'core/schema-keywords.ts KEYWORDS':
    'a schema belongs to no application, and core may not import the adapter',
  'core/schema/model/places.ts PATTERNS': 'a compiled pattern is the same for everybody',
  'core/schema/validation/ajv.ts INSTANCES':
    'Ajv takes long to make, and an instance learns of no schema',
}

/** The weak tables of modules. State about an object belongs on the object, unless that is not ours. */
const WEAK_TABLES = [
  'adapter/connection/client-facts.ts CLIENTS',
  'adapter/connection/model.ts opened',
  'core/external-form.ts RecordTable',
  'core/function-metadata.ts METADATA',
]

/** The declarations of a module begin lines, as Biome formats them. */
const VARIABLE = /^(?:export )?(?:let|var) ([\w$]+)/gm
const CONSTANT = /^(?<isExported>export )?const (?<name>[\w$]+)\b/gm
const STATIC =
  /^ +(?:(?:private|protected|public|override) )*static (?!.*\breadonly )([#\w$]+)\b(?: =|[?:;])/gm
const WEAK =
  /^(?:export )?(?:const (?<table>[\w$]+)\b.*=\s*new|class (?<kind>[\w$]+)\b.* extends) Weak(?:Map|Set)\b/gm

const CHANGING = 'set|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill'

/** Whether code changes a constant itself: by a method, a property or a function that does. */
function changes(code: string, name: string): boolean {
  const itself = `(?<![\\w$.#])${name.replaceAll('$', '\\$')}`
  const member = String.raw`(?:\??\.[#\w$]+|!|\[[^\]\n]*\])`
  return [
    String.raw`${itself}\??\.(?:${CHANGING})\(`,
    `${itself}${member}+ [-+*/%|&?^]{0,2}=(?![=>])`,
    String.raw`${itself}${member}+(?:\+\+|--)`,
    String.raw`(?:\+\+|--|\bdelete )${itself}[.[]`,
    String.raw`\bObject\.(?:assign|define\w+|setPrototypeOf)\(\s*${itself}\b`,
    String.raw`\bgetOrAdd\(\s*${itself}\b`,
  ].some((pattern) => new RegExp(pattern).test(code))
}

/** Returns `file NAME` of what the modules of some folders hold and something of the sources changes. */
function findState(sources: Sources, folders: RegExp): string[] {
  const codes = Object.entries(sources).map(([file, source]) => [file, toCode(source)] as const)
  return codes
    .filter(([file]) => folders.test(file))
    .flatMap(([file, code]) => {
      const variables = [...code.matchAll(VARIABLE), ...code.matchAll(STATIC)].map(
        ([, name]) => name,
      )
      const constants = [...code.matchAll(CONSTANT)].flatMap(({ groups }) => {
        const { isExported, name = '' } = groups ?? {}
        const readers = isExported === undefined ? [code] : codes.map(([, reader]) => reader)
        return readers.some((reader) => changes(reader, name)) ? [name] : []
      })
      return [...variables, ...constants].map((name) => `${file} ${name}`)
    })
}

const SOURCES = readSources('src')

t.test('the modules of core and transport hold nothing that changes', async (t) => {
  t.strictSame(findState(SOURCES, /^(core|transport)\//).toSorted(), Object.keys(SHARED).toSorted())
})

t.test('no further module has a weak table', async (t) => {
  const found = Object.entries(SOURCES).flatMap(([file, source]) =>
    [...toCode(source).matchAll(WEAK)].map(
      ({ groups }) => `${file} ${groups?.['table'] ?? groups?.['kind']}`,
    ),
  )
  t.strictSame(found, WEAK_TABLES)
})

t.test('finds state of a module, and no other', async (t) => {
  const stateful = [
    'let last = 0',
    'export var last = 0',
    'const last: Map<string, number> = new Map()\nfunction note() {\n  last.set(name, 1)\n}',
    'export const last = { host: 0 }\nfunction note() {\n  last.host = 1\n}',
    'const last = []\nfunction note() {\n  last[0] ??= 1\n}',
    'const last = { count: 0 }\nfunction note() {\n  last.count++\n}',
    'const last = {}\nfunction note() {\n  delete last[name]\n}',
    'const last = {}\nfunction note() {\n  Object.assign(last, other)\n}',
    'class Server {\n  static last = 0\n}',
  ]
  for (const source of stateful) {
    t.strictSame(findState({ 'a.ts': source }, /a/), ['a.ts last'], source)
  }
  const other = { 'a.ts': 'export const last = { n: 0 }', 'b.ts': '  last.n = 1\n' }
  t.strictSame(findState(other, /a/), ['a.ts last'], 'that another file changes')
  const stateless = [
    'const last = new Map([[1, 2]])\nfunction read() {\n  return last.get(1) === 2\n}',
    'function create() {\n  let last = 0\n  return () => (last += 1)\n}',
    'const SCRIPT = `\nlet last = 0\n`',
    '/*\nlet last = 0\n*/',
    'const last = { n: 0 }\nconst copy = { ...other, last }\nif (last.n == 1 || last.n >= 2) run()',
    'const last = 0\nthis.last.n = 1',
    'class Server {\n  static readonly last = 0\n  static read() {}\n}',
  ]
  for (const source of stateless) t.strictSame(findState({ 'a.ts': source }, /a/), [], source)
})
