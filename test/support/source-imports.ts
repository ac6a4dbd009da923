import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Source code by path below `src`, with slashes: `core/app.ts`. */
export type Sources = Readonly<Record<string, string>>

/** Comments, strings, templates and regular expressions, so that no import is seen inside them. */
const OPAQUE =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|(?<=(?:^|[(,=:[!&|?{};+\-*%<>~^]|\breturn|\btypeof|\bcase)\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//gm
/** A string is `"n"` by now, n its place in the list of strings. */
const STATEMENT =
  /\b(?<kind>import|export)\s+(?:type\s+)?(?:(?<clause>(?:(?!\b(?:import|export)\b)[\w$\s{},*])*?)\bfrom\s*)?"(?<index>\d+)"/g
const CALL = /\bimport\s*\(\s*(?:"(\d+)"|[^)]*)/g

/** One import or re-export of a source. */
export interface ImportStatement {
  /** What stands behind `from`; `?` for an `import()` of no plain string. */
  readonly specifier: string
  readonly isExport: boolean
  /** The names that it takes from there: `[]` for all of them, or none. */
  readonly names: readonly string[]
}

/** Returns what a source imports, types included; `import()` of no plain string is `?`. */
export function readImports(source: string): string[] {
  return readStatements(source).map(({ specifier }) => specifier)
}

/** Returns the imports and re-exports of a source, types included. */
export function readStatements(source: string): ImportStatement[] {
  const strings: string[] = []
  const code = source.replace(OPAQUE, (text) => {
    if (!/^['"`]/.test(text)) return ' '
    if (text.includes('${')) return '`'
    return `"${strings.push(text.slice(1, -1)) - 1}"`
  })
  const statements = [...code.matchAll(STATEMENT)].map(({ groups }) => ({
    specifier: strings[Number(groups?.['index'])] ?? '?',
    isExport: groups?.['kind'] === 'export',
    names: readNames(groups?.['clause'] ?? ''),
  }))
  const calls = [...code.matchAll(CALL)].map(([, index]) => ({
    specifier: strings[Number(index)] ?? '?',
    isExport: false,
    names: [],
  }))
  return [...statements, ...calls]
}

/** Returns a source without its comments and regular expressions, and with nothing in its strings. */
export function toCode(source: string): string {
  return source.replace(OPAQUE, (text) => (/^['"`]/.test(text) ? '""' : ' '))
}

/** Returns the names that stand in braces, as the other file has them. */
function readNames(clause: string): string[] {
  const [, list = ''] = clause.split(/[{}]/)
  return list.split(',').flatMap((one) => /^\s*(?:type\s+)?([\w$]+)/.exec(one)?.[1] ?? [])
}

/** Returns the imported path below `src`, `undefined` for packages. */
export function resolvePath(from: string, specifier: string): string | undefined {
  if (!/^\.{0,2}\//.test(specifier)) return undefined
  const root = 'file:///src/'
  const { href } = new URL(specifier, root + from)
  return href.startsWith(root) ? href.slice(root.length) : href
}

/** Reads every source below a folder of the repository, by its path there. */
export function readSources(folder: string): Sources {
  const root = fileURLToPath(new URL(`../../../${folder}/`, import.meta.url))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .sort()
  return Object.fromEntries(
    files.map((file) => [file.replaceAll('\\', '/'), readFileSync(root + file, 'utf8')]),
  )
}

/** That one file or folder imports another. */
export interface Edge {
  readonly from: string
  readonly to: string
}

/** Returns one `a → b → a` for each edge that closes a cycle in a walk from every node. */
export function findCycles(edges: readonly Edge[]): string[] {
  const targets = new Map<string, Set<string>>()
  for (const { from, to } of edges) {
    targets.set(from, (targets.get(from) ?? new Set()).add(to))
  }
  const cycles: string[] = []
  const done = new Set<string>()
  const walk = (node: string, path: readonly string[]): void => {
    const start = path.indexOf(node)
    if (start >= 0) cycles.push([...path.slice(start), node].join(' → '))
    if (start >= 0 || done.has(node)) return
    for (const target of targets.get(node) ?? []) walk(target, [...path, node])
    done.add(node)
  }
  for (const node of targets.keys()) walk(node, [])
  return cycles
}
