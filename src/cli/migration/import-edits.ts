import type { SourceFile } from './source-file.ts'

/** An import of types or values from a Feathers package, as people and formatters write it. */
const IMPORT =
  /^import\s+(?:(type)\s+)?([\w$]+\s*,?\s*)?(?:\{([^}]*)\}\s*)?from\s*(['"])@feathersjs\/([\w-]+)\4;?/gm
const BARE_IMPORT = /^import\s*(['"])@feathersjs\/transport-commons(?:\/[\w/]*)?\1;?/gm

/** Where exports of a package have gone. */
interface Move {
  readonly from: string
  /** The exports that keep their names. */
  readonly names: string
  /** The Remex name of the default export. */
  readonly default?: string
}

/** The exports of each package that Remex has under the same name. */
const MOVES: Readonly<Record<string, Move>> = {
  authentication: {
    from: 'remex/auth',
    names:
      'authenticate AuthenticationService JWTStrategy AuthenticationBaseStrategy AuthenticationRequest AuthenticationResult AuthenticationStrategy AuthenticationParams AuthenticationConfiguration ConnectionEvent',
  },
  'authentication-local': { from: 'remex/auth', names: 'LocalStrategy passwordHash' },
  'authentication-oauth': { from: 'remex/auth', names: 'oauth OAuthStrategy OAuthProfile' },
  configuration: { from: 'remex', names: '', default: 'configuration' },
  errors: {
    from: 'remex/errors',
    names:
      'BadRequest NotAuthenticated PaymentError Forbidden NotFound MethodNotAllowed NotAcceptable Timeout Conflict Gone LengthRequired Unprocessable TooManyRequests GeneralError NotImplemented BadGateway Unavailable errors convert',
    default: 'errors',
  },
  express: { from: 'remex', names: 'rest cors serveStatic errorHandler notFound' },
  feathers: { from: 'remex', names: 'Params Id NullableId NextFunction' },
  koa: { from: 'remex', names: 'rest cors serveStatic errorHandler' },
  mongodb: {
    from: 'remex/mongodb',
    names:
      'MongoDBService MongoDBAdapterParams MongoDBAdapterOptions PaginationOptions AdapterId NullableAdapterId keywordObjectId ObjectIdSchema resolveObjectId resolveQueryObjectId',
  },
  'transport-commons': { from: 'remex/socketio', names: 'Channel' },
  socketio: { from: 'remex/socketio', names: '', default: 'socketio' },
}

/** Exports whose counterpart is in a different package than the others. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  Application: '@feathersjs/feathers',
}

/** The packages that an application no longer needs. */
export const REPLACED: readonly string[] = [
  ...Object.keys(MOVES).filter((name) => name !== 'feathers'),
  'adapter-commons',
].map((name) => `@feathersjs/${name}`)

/** Calls that edits remove: their imports go with them once unused. */
const DROPPED: readonly string[] = [
  ...['bodyParser', 'errorHandler', 'express', 'feathers', 'json', 'koa', 'notFound'],
  ...['parseAuthentication', 'urlencoded', 'Application'],
]

interface Statement {
  readonly index: number
  readonly end: number
  /** `type ` in an import of types. */
  readonly kind: string
  readonly quote: string
  readonly move: Move
  readonly source: string
  readonly semicolon: string
  readonly names: readonly string[]
  readonly defaultName: string | undefined
}

/** Moves the imports of Feathers packages, and adds those that other edits need. */
export function moveImports(file: SourceFile): void {
  const isOfClient = /-client['"]/.test(file.code) || /\.shared\.[cm]?[jt]s$/.test(file.path)
  const statements = readStatements(file).filter(
    ({ source }) => source !== 'feathers' || !isOfClient,
  )
  for (const match of file.code.matchAll(BARE_IMPORT)) {
    file.removeLines(match.index, match.index + match[0].length)
  }
  const body = file.editedCode.replace(IMPORT, '').replace(/(['"]).*?\1/g, '')
  const isUsed = (name: string) => new RegExp(`(?<![\\w$.])${name}\\b`).test(body)
  const moved = new Map<string, Set<string>>()
  const places = new Map<string, Statement>()
  const add = (statement: Statement, from: string, name: string) => {
    const key = `${statement.kind}${from}`
    if (!places.has(key)) places.set(key, statement)
    moved.set(key, (moved.get(key) ?? new Set()).add(name))
  }
  const rest = new Map<Statement, string>()
  for (const statement of statements) {
    const { move, defaultName } = statement
    const stay = statement.names.filter((given) => {
      const [, name = '', local = name] = /^(?:type\s+)?(\w+)(?:\s+as\s+(\w+))?$/.exec(given) ?? []
      if (DROPPED.includes(name) && !isUsed(local)) return false
      const from = move.names.split(' ').includes(name) ? move.from : ELSEWHERE[name]
      if (from === undefined || from === `@feathersjs/${statement.source}`) {
        if (statement.source === 'feathers') return true
        file.note(
          statement.index,
          `${name} of @feathersjs/${statement.source} has no counterpart of this name`,
        )
        return true
      }
      add(statement, from, given)
      return false
    })
    const isGone =
      defaultName !== undefined && DROPPED.includes(defaultName) && !isUsed(defaultName)
    const hasMoved = move.default !== undefined && defaultName !== undefined
    if (hasMoved) {
      const { default: name = '' } = move
      add(statement, move.from, name === defaultName ? name : `${name} as ${defaultName}`)
    }
    const staysDefault = isGone || hasMoved ? [] : [defaultName ?? []].flat()
    const clause = [...staysDefault, ...(stay.length > 0 ? [`{ ${stay.join(', ')} }`] : [])]
    if (clause.length > 0) {
      const { kind, quote, source, semicolon } = statement
      const from = `${quote}@feathersjs/${source}${quote}`
      rest.set(statement, `import ${kind}${clause.join(', ')} from ${from}${semicolon}`)
    }
  }
  const [first] = statements
  for (const { from, name } of file.needs) {
    if (first === undefined) continue
    const isType = name.startsWith('type ')
    const home = statements.find(({ kind, move }) => move.from === from && (kind !== '') === isType)
    const kind = isType ? 'type ' : ''
    add({ ...(home ?? first), kind }, from, name.replace('type ', ''))
  }
  for (const statement of statements) {
    const lines = [...places].flatMap(([key, place]) => {
      if (place.index !== statement.index) return []
      const { quote, semicolon, kind } = place
      const names = [...(moved.get(key) ?? [])].join(', ')
      return `import ${kind}{ ${names} } from ${quote}${key.slice(kind.length)}${quote}${semicolon}`
    })
    const text = [rest.get(statement) ?? [], lines].flat().join('\n')
    const { index, end } = statement
    if (text === '') file.removeLines(index, end)
    else if (lines.length > 0 || text !== file.text.slice(index, end))
      file.replace(index, end, text)
  }
}

function readStatements({ code }: SourceFile): Statement[] {
  return [...code.matchAll(IMPORT)].flatMap((match) => {
    const [text, type, defaultName, names = '', quote = '', source = ''] = match
    const move = MOVES[source]
    if (move === undefined) return []
    return {
      index: match.index,
      end: match.index + text.length,
      kind: type === undefined ? '' : 'type ',
      quote,
      move,
      source,
      semicolon: text.endsWith(';') ? ';' : '',
      names: names.split(',').flatMap((name) => name.trim().replace(/\s+/g, ' ') || []),
      defaultName: defaultName?.replace(/\s*,?\s*$/, ''),
    }
  })
}
