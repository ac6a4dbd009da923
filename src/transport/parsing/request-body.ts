import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import formbody from '@fastify/formbody'
import type {
  FastifyBodyParser,
  FastifyInstance,
  HTTPMethods,
  preParsingHookHandler,
} from 'fastify'
import {
  BodyTooComplex,
  BodyTypeUnsupported,
  InvalidBody,
  InvalidSocketCall,
} from '../../core/errors/coded-errors.ts'
import type { UnsupportedMediaType } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { OPTION, withDefaults } from '../../core/options/option-check.ts'
import { isObject } from '../../core/value-kind.ts'
import { quoteName } from './parameters.ts'
import type { QueryOptions, QueryParser } from './query-string.ts'
import { createQueryParser, QUERY_RULES } from './query-string.ts'
import { QUERY } from './query-verbs.ts'

/** Limits of JSON bodies. Exceeding one returns 400, with an error that names the limit. */
export interface JsonOptions {
  /** Largest body, in bytes; a larger one returns 413. Default: that of the server, 1 MiB. */
  readonly bodyLimit?: number
  /** Deepest nesting of objects and arrays. Default: 50. */
  readonly maxDepth?: number
  /** Most keys and array items in one body. Default: 10,000. */
  readonly maxKeys?: number
}

/** In valid UTF-8 a lone surrogate can only be written as an escape. */
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/

type Limits = Required<Omit<JsonOptions, 'bodyLimit'>>

export const JSON_RULES: Readonly<Record<keyof JsonOptions, OptionRule>> = {
  bodyLimit: OPTION.bodyLimit,
  maxDepth: OPTION.limit,
  maxKeys: OPTION.limit,
}

/**
 * Adds the parser for `application/json` to a scope. It rejects `__proto__`, invalid UTF-8 and escapes of lone
 * surrogates. An empty body counts as none: some clients send the content type with every request.
 */
export function addJsonParser(scope: FastifyInstance, options: JsonOptions = {}): void {
  const { bodyLimit, ...given } = options
  const limits = withDefaults<Limits>(DEFAULT_LIMITS, given)
  const parseJson = scope.getDefaultJsonParser('error', 'error') as FastifyBodyParser<string>
  const parseAnyName = scope.getDefaultJsonParser('ignore', 'ignore') as typeof parseJson
  const parser: FastifyBodyParser<Buffer> = (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    const text = body.toString()
    // Invalid bytes become U+FFFD, which few texts contain: searching for it is faster than checking everything.
    if (text.includes('\uFFFD') && !isUtf8(body)) {
      return done(new InvalidBody('The body is not valid UTF-8'), undefined)
    }
    return parseJson(request, text, (error, value) => {
      if (error === null) return done(findFault(text, value, limits), value)
      // Fastify has one error for both.
      parseAnyName(request, text, (invalid) =>
        done(invalid ?? new InvalidBody(`The body ${NAME_REFUSED}`), undefined),
      )
    })
  }
  const parserOptions = {
    parseAs: 'buffer',
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
  } as const
  scope.addContentTypeParser('application/json', parserOptions, parser)
}

const NAME_REFUSED = "has a name that is not allowed: '__proto__', or 'prototype' in 'constructor'"

/** Walks through a body only if its text, which is scanned much faster, may have a fault. */
function findFault(text: string, value: unknown, limits: Limits): Error | null {
  const isEscaped = text.includes('\\u') && ESCAPED_SURROGATE.test(text)
  return isEscaped || mayExceed(text, limits) ? walk(value, limits, isEscaped) : null
}

const DEFAULT_LIMITS: Limits = { maxDepth: 50, maxKeys: 10_000 }

/**
 * Returns a function that checks the values of messages of another transport against the limits of bodies. It throws
 * `BadRequest` if a limit is exceeded, a name is not allowed, or a text is not well-formed.
 */
export function createMessageCheck({
  bodyLimit: _bodyLimit,
  ...given
}: JsonOptions): (values: readonly unknown[]) => void {
  const limits = withDefaults<Limits>(DEFAULT_LIMITS, given)
  return (values) => {
    const fault = values.every(isHarmless) ? null : walk(values, limits, true, 'message')
    if (fault !== null) throw fault
  }
}

/** Returns whether a value needs no check: most calls have an id and an empty query. */
function isHarmless(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  return !isObject(value) || Object.keys(value).length === 0
}

/**
 * Returns whether a body has to be walked to check its size. An item takes two characters and a level one opening
 * bracket, so most bodies cannot have too many.
 */
function mayExceed(text: string, { maxDepth, maxKeys }: Limits): boolean {
  if (text.length > 2 * maxKeys) return true
  let levels = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      levels += 1
      if (levels > maxDepth) return true
    }
  }
  return false
}

/** Returns what is wrong with a parsed body, `null` if it is within the limits and well-formed. */
function walk(
  value: unknown,
  limits: Limits,
  isEscaped: boolean,
  what: 'body' | 'message' = 'body',
): Error | null {
  let keys = 0
  // By levels rather than recursion: a client chooses the depth, and must not overflow the stack.
  let level: object[] = isObject(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > limits.maxDepth) {
      return new BodyTooComplex(`The ${what} is nested deeper than ${limits.maxDepth} levels`)
    }
    const next: object[] = []
    for (const parent of level) {
      const names = Object.keys(parent)
      keys += names.length
      if (keys > limits.maxKeys) {
        return new BodyTooComplex(`The ${what} has more than ${limits.maxKeys} keys`)
      }
      if (what === 'message' && hasRejectedName(parent)) {
        return new InvalidSocketCall(`The message ${NAME_REFUSED}`)
      }
      for (const name of names) {
        const child: unknown = Reflect.get(parent, name)
        const malformed = isEscaped ? findMalformed(name, child, what) : null
        if (malformed !== null) return malformed
        if (isObject(child) && !ArrayBuffer.isView(child)) next.push(child)
      }
    }
    level = next
  }
  return null
}

/** Returns whether an object has a name that the parser of JSON bodies rejects itself. */
function hasRejectedName(parent: object): boolean {
  if (Object.hasOwn(parent, '__proto__')) return true
  const own = Object.getOwnPropertyDescriptor(parent, 'constructor')?.value as unknown
  return isObject(own) && Object.hasOwn(own, 'prototype')
}

/**
 * Rejects a lone surrogate. A database stores U+FFFD instead, so that two different user names could become the same.
 */
function findMalformed(name: string, value: unknown, what: string): Error | null {
  if (!name.isWellFormed())
    return new InvalidBody(`A name in the ${what} is not well-formed Unicode`)
  if (typeof value !== 'string' || value.isWellFormed()) return null
  return new InvalidBody(`The text of ${quoteName(name)} is not well-formed Unicode`)
}

/** Returns the data of a call: `{}` without a body, since clients send none for `undefined`. */
export function readData(body: unknown): object {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null) {
    throw new InvalidBody('The body must be an object or an array')
  }
  return body
}

/** Limits of URL-encoded bodies: those of query strings, except for their length and for lists. */
export interface FormOptions extends Omit<QueryOptions, 'maxLength' | 'arrayLimit'> {
  /** Longest list; a longer one returns 400. Default: `parameterLimit`. */
  readonly arrayLimit?: number
  /** Largest body, in bytes; a larger one returns 413. Default: that of the server, 1 MiB. */
  readonly bodyLimit?: number
}

const { maxLength: _, ...SHARED_RULES } = QUERY_RULES

export const FORM_RULES: Readonly<Record<keyof FormOptions, OptionRule>> = {
  ...SHARED_RULES,
  bodyLimit: OPTION.bodyLimit,
}

/**
 * Adds the parser for `application/x-www-form-urlencoded` to a scope; brackets nest as in queries. An empty body is an
 * empty object.
 * @param query a custom parser for queries also reads these bodies, with its own limits
 */
export function addFormParser(
  scope: FastifyInstance,
  options: FormOptions = {},
  query: QueryOptions | QueryParser = {},
): void {
  const { bodyLimit, ...limits } = options
  const isOwn = typeof query === 'function'
  const maxLength = Number.POSITIVE_INFINITY
  const parse = createQueryParser(isOwn ? query : { ...limits, maxLength }, 'body')
  scope.register(formbody, {
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    parser: (text) => {
      if (text === '') return {}
      // Invalid UTF-8 has become U+FFFD. A client that means that character percent-encodes it.
      if (text.includes('\ufffd')) throw new InvalidBody(NOT_UTF8)
      return parse(text)
    },
  })
}

const NOT_UTF8 = 'The body is not valid UTF-8, or holds a U+FFFD that is not percent-encoded'

const VERBS_WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE', QUERY]

/** Longest content type with parameters: Node reads many spaces in quadratic time. */
const MAX_TYPE_LENGTH = 256

/**
 * Makes the routes of a scope return 415 for compressed bodies, as 48 kB may expand to 50 MB, and for bodies in an
 * encoding other than UTF-8. `compress({ globalDecompression: true })` decompresses bodies before this check.
 */
export function refuseOtherEncodings(scope: FastifyInstance): void {
  const checkEncodings = createEncodingCheck()
  scope.addHook('onRoute', (route) => {
    if (!mayHaveBody(route)) return
    route.preParsing = [...[route.preParsing ?? []].flat(), checkEncodings]
  })
}

/** Returns the error for a body that no parser of a service accepts. */
export function createUnsupportedType(): UnsupportedMediaType {
  return new BodyTypeUnsupported('The body must be JSON or URL-encoded')
}

/** Returns whether a request has a body, according to its headers. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return Number(length) !== 0 || encoding !== undefined
}

/** Returns whether a route has a verb with a body, so that reads cost nothing. */
export function mayHaveBody({ method }: { readonly method: HTTPMethods | HTTPMethods[] }): boolean {
  return [method].flat().some((verb) => VERBS_WITH_BODY.includes(verb))
}

function createEncodingCheck(): preParsingHookHandler {
  // Clients use few types: the last valid one with parameters is remembered.
  let lastGood = ''
  return (request, _reply, payload, done) => {
    const { 'content-encoding': encoding, 'content-type': type = '' } = request.headers
    // This property tells Fastify that another hook decodes the body.
    const isDecoded = payload.receivedEncodedLength !== undefined
    if (encoding !== undefined && !isDecoded && encoding.toLowerCase() !== 'identity') {
      return done(new BodyTypeUnsupported('Bodies with a content encoding are not accepted'))
    }
    if (type.includes(';') && type !== lastGood) {
      if (hasOtherCharset(type)) {
        return done(new BodyTypeUnsupported('Bodies are read as UTF-8 only'))
      }
      lastGood = type
    }
    return done(null, payload)
  }
}

/** Returns whether a content type names an encoding other than UTF-8; the value may be quoted. */
function hasOtherCharset(contentType: string): boolean {
  if (contentType.length > MAX_TYPE_LENGTH) return true
  try {
    const charset = new MIMEType(contentType).params.get('charset') ?? 'utf-8'
    return charset.toLowerCase() !== 'utf-8'
  } catch {
    return true
  }
}
