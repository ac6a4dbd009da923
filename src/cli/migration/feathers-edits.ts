import { moveImports, REPLACED } from './import-edits.ts'
import { SourceFile } from './source-file.ts'

const GUIDE = 'see the guide "Migrating from Feathers 5"'

const MIDDLEWARE_NOTE = `Koa or Express middleware: functions here are (request, reply), ${GUIDE}`
const BODY_NOTE =
  'rest() does this. For a larger body, use app.configure(json({ bodyLimit: bytes }))'

/** Returns a file of a Feathers application with the edits that it needs, and what is left to the user. */
export function editSource(path: string, text: string): SourceFile {
  const file = new SourceFile(path, text)
  if (path === 'tsconfig.json') editCompilerOptions(file)
  else {
    const isTest = path.startsWith('test/')
    for (const edit of isTest ? [editTests] : SOURCE_EDITS) edit(file)
    moveImports(file)
    for (const [pattern, note] of NOTES) {
      for (const { index } of file.code.matchAll(pattern)) file.note(index, note)
    }
    noteImports(file)
  }
  file.notes.sort((one, other) => one.index - other.index)
  return file
}

const SOURCE_EDITS = [editServer, editListen, editDeclarations, editService, editSharedList]

/** Patterns in sources, and what the user has to know about them. */
const NOTES: readonly (readonly [RegExp, string])[] = [
  [
    /\bmulti: *(?:true|\[[^\]]*(?:patch|remove))/g,
    'external calls cannot patch or remove many records without a condition, unless allowEmptyFilter is true',
  ],
  [
    /\bapp\.listen\([^\n]*\)\s*\.then\((?![\s\S]*\.catch\()/g,
    'a failed start rejects: add .catch() that logs the error and ends the process',
  ],
  [/\b(?:ctx|req)\.feathers\b/g, 'params of a request are in request.feathers'],
  [
    /\b(?:require|import)\((['"])(?:@koa\/)?multer\1\)|from (['"])(?:@koa\/)?multer\2/g,
    'forms at the path of a service: use bodyParsers() with @fastify/multipart',
  ],
  [
    /\boverride (?:async )?find\(|^ {2}async find\([^)]*\)[^{]*\{(?=[\s\S]*extends MongoDBService)/gm,
    'live queries of a service with its own find run it again for each event; REST and sockets work',
  ],
]

/** Middleware that `rest()` replaces. */
const REMOVED: readonly string[] = [
  ...['bodyParser()', 'errorHandler()', 'json()', 'notFound()', 'parseAuthentication()'],
  ...['urlencoded()', 'urlencoded({ extended: true })', 'urlencoded({ extended: false })'],
]
const BODIES = /^(?:bodyParser|json|urlencoded)\(/

/** The application: its server and the middleware that it starts with. */
function editServer(file: SourceFile): void {
  const { code } = file
  const imports = /^import[^;'"]*from\s*['"]@feathersjs\/(?:koa|express)['"]/gm
  const ours = [...code.matchAll(imports)].flatMap(([text]) => text.match(/\w+/g) ?? [])
  file.replaceEach(/\b(?:koa|express)\(feathers(<[\w\s,]*>)?\(\)\)/g, ([, types = '']) => {
    need(file, 'createApp', 'fastifyApp')
    return `fastifyApp(createApp${types}())`
  })
  for (const { index, 0: start } of code.matchAll(/\bapp\s*\.use\(/g)) {
    const { given, close } = file.readCall(index + start.length - 1)
    const isAtRoot =
      given.length === 1 || (given.length === 2 && /^(['"])\/\1$/.test(`${given[0]?.text}`))
    const last = given.at(-1)
    const [, name = ''] = /^(\w+)\(/.exec(last?.text ?? '') ?? []
    if (last === undefined) continue
    const inner = file.readCall(last.start + name.length)
    const isOurs = isAtRoot && ours.includes(name)
    const isAlone = inner.close + 1 === last.start + last.text.length
    const call =
      isOurs && isAlone ? `${name}(${inner.given.map(({ text }) => text).join(', ')})` : ''
    const configured = toConfigured(call, inner.given.length)
    if (REMOVED.includes(call)) file.removeLines(index, close + 1)
    else if (configured !== undefined) {
      need(file, name)
      if (name === 'serveStatic') file.needs.push({ from: 'node:path', name: 'resolve as toPath' })
      file.replace(index, close, `app.configure(${configured}`)
    } else if (isAtRoot || given.some(({ text }) => /=>|\bfunction\b/.test(text))) {
      file.note(index, BODIES.test(call) ? BODY_NOTE : MIDDLEWARE_NOTE)
    }
  }
}

/**
 * Returns the argument of `app.configure()` that replaces a middleware, `undefined` if the user has to
 * decide.
 */
function toConfigured(call: string, count: number): string | undefined {
  if (call === 'cors()' || call === 'errorHandler({ logger })') return call
  const [, folder] = /^serveStatic\(([\s\S]+)\)$/.exec(call) ?? []
  return folder === undefined || count !== 1
    ? undefined
    : `serveStatic({ root: toPath(${folder}) })`
}

/** Feathers listens on all addresses. */
function editListen(file: SourceFile): void {
  file.replaceEach(
    /\bapp\.listen\((port|app\.get\(['"]port['"]\)|\d+)\)/g,
    ([, port]) => `app.listen(${port}, '0.0.0.0')`,
  )
}

/** The types of the application. */
function editDeclarations(file: SourceFile): void {
  const application = /\b(export type Application\s*=\s*)FeathersApplication</
  if (application.test(file.code)) {
    file.replaceEach(new RegExp(application, 'g'), ([, start]) => {
      file.needs.push({ from: 'remex', name: 'type FastifyApplication' })
      return `${start}FastifyApplication<`
    })
    file.replaceEach(
      /\bFeathersHookContext<\s*Application\s*,\s*S\s*>/g,
      () =>
        'FeathersHookContext<\n  Application & FeathersApplication<ServiceTypes, Configuration>,\n  S\n>',
    )
  }
  file.replaceEach(
    /\binterface Configuration extends ApplicationConfiguration \{(?![^}]*\bpaginate\b)(\s*)/g,
    ([, space]) =>
      `interface Configuration extends ApplicationConfiguration {\n  paginate: { default: number; max: number }\n${space === '' ? '' : '  '}`,
  )
  file.replaceEach(
    /declare module (['"])@feathersjs\/feathers\1 \{\s*interface Params \{\s*user\?: ([\w.]+);?\s*\}\s*\}/g,
    ([, quote, type]) =>
      `declare module ${quote}remex${quote} {\n  interface DeclaredTypes {\n    user: ${type}\n  }\n}`,
  )
}

/** The class of a service on MongoDB. */
function editService(file: SourceFile): void {
  const { code } = file
  for (const { index, 0: text } of code.matchAll(/\bextends MongoDBService</g)) {
    const open = index + text.length
    const close = code.indexOf('>', open)
    const types = code.slice(open, close).split(',')
    const last = types[3]
    // Nested type arguments are left to the compiler.
    if (types.length !== 4 || last === undefined || code.slice(open, close).includes('<')) continue
    const kept = code.slice(open, close - last.length - 1)
    file.replace(open + kept.length, close, /\s*$/.exec(last)?.[0] ?? '')
  }
  if (!/\bpaginate: app\.get\(['"]paginate['"]\)/.test(code)) return
  file.replaceEach(/\): MongoDBAdapterOptions => \{/g, () => {
    file.needs.push({ from: 'remex/mongodb', name: 'type PageSize' })
    return '): MongoDBAdapterOptions & { paginate: PageSize } => {'
  })
}

/** The list of methods that clients see, which selects their types. */
function editSharedList(file: SourceFile): void {
  file.replaceEach(
    /(export const \w+Methods): Array<keyof [\w<>]+>( = \[[^\]]*\])(?! as const)/g,
    ([, start, list]) => `${start}${list} as const`,
  )
}

/** Tests start the application once, in `test/server.ts`. */
function editTests(file: SourceFile): void {
  const { code } = file
  const hooks =
    /\b(?:before|after)\(async \(\) => \{\s*(?:server = )?await app\.(?:listen\(port\)|teardown\(\));?\s*\}\);?/g
  const matches = [...code.matchAll(hooks)]
  for (const { index, 0: text } of matches) {
    const next = /^\s*\n(?=\s*\n)/.exec(code.slice(index + text.length))?.[0].length ?? 0
    file.removeLines(index, index + text.length + next)
  }
  if (matches.length === 0 || /\bserver\b(?!: Server| =)/.test(code.replace(hooks, ''))) return
  file.replaceEach(
    /^ *let server: Server;?\s*\n|^import type \{ Server \} from ['"]http['"];?\s*\n/gm,
    () => '',
  )
}

function editCompilerOptions(file: SourceFile): void {
  const { code } = file
  // The declarations of server packages need a newer target than the generated one.
  const rest = code.includes('"skipLibCheck"') ? '' : ',\n    "skipLibCheck": true'
  file.replaceEach(/"module":\s*"commonjs"/gi, () => `"module": "nodenext"${rest}`)
  file.replaceEach(/"moduleResolution":\s*"node(?:10)?"/gi, () => '"moduleResolution": "nodenext"')
  for (const { index } of code.matchAll(/"skipLibCheck":\s*false/g)) {
    file.note(index, 'set it to true, or "target" to "es2022" or newer')
  }
}

/** Notes imports that are left of packages that the application should no longer use. */
function noteImports(file: SourceFile): void {
  for (const { index, 0: text, 2: name = '' } of file.code.matchAll(PACKAGE)) {
    const isModule = /\bmodule\s*$/.test(file.code.slice(0, index))
    const isNoted = file.notes.some((note) => file.lineAt(note.index) === file.lineAt(index))
    if (isNoted || file.isReplaced(index, index + text.length)) continue
    if (isModule) file.note(index, `declares members of ${name}, ${GUIDE}`)
    else if (REPLACED.includes(name)) file.note(index, `imports ${name}, ${GUIDE}`)
  }
}

const PACKAGE = /(['"])(@feathersjs\/[\w-]+)\1/g

const need = (file: SourceFile, ...names: readonly string[]): void => {
  for (const name of names) file.needs.push({ from: 'remex', name })
}
