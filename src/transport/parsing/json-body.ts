import { isUtf8 } from 'node:buffer'
import type { FastifyBodyParser, FastifyInstance } from 'fastify'
import { BadRequest } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { isObject } from '../../core/value-kind.ts'
import { quoteName } from './quote-name.ts'

/** Limits of JSON bodies; each one that is exceeded answers 400 and is named there. */
export interface JsonOptions {
  /** Largest body, in bytes; a larger one answers 413. Default: that of the server, 1 MiB. */
  readonly bodyLimit?: number
  /** Deepest nesting of objects and arrays. Default: 50. */
  readonly maxDepth?: number
  /** Most keys and array items in one body. Default: 10,000. */
  readonly maxKeys?: number
}

/** In valid UTF-8 half a surrogate pair can only be written as an escape. */
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/

type Limits = Required<Omit<JsonOptions, 'bodyLimit'>>

const JSON_DEFAULTS: Limits = Object.freeze({ maxDepth: 50, maxKeys: 10_000 })

export const JSON_RULES: Readonly<Record<keyof JsonOptions, OptionRule>> = {
  bodyLimit: OPTION.bodyLimit,
  maxDepth: OPTION.limit,
  maxKeys: OPTION.limit,
}

/**
 * Adds the parser for `application/json` to a scope; `__proto__`, invalid UTF-8 and escapes of half
 * a surrogate pair are refused. An empty body counts as none: some clients send the content type
 * with every request.
 */
export function addJsonParser(scope: FastifyInstance, options: JsonOptions = {}): void {
  const { bodyLimit, ...given } = options
  checkOptions('json()', options, JSON_RULES)
  const limits = withDefaults(JSON_DEFAULTS, given)
  const parseJson = scope.getDefaultJsonParser('error', 'error') as FastifyBodyParser<string>
  const parseAnyName = scope.getDefaultJsonParser('ignore', 'ignore') as typeof parseJson
  const parser: FastifyBodyParser<Buffer> = (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    const text = body.toString()
    // Invalid bytes become U+FFFD, which few texts hold: the search is faster than a check of all.
    if (text.includes('\uFFFD') && !isUtf8(body)) {
      return done(new BadRequest('The body is not valid UTF-8'), undefined)
    }
    return parseJson(request, text, (error, value) => {
      if (error === null) done(findFault(text, value, limits), value)
      // Fastify has one error for both.
      else parseAnyName(request, text, (invalid) => done(invalid ?? createNameError(), undefined))
    })
  }
  const parserOptions = {
    parseAs: 'buffer',
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
  } as const
  scope.addContentTypeParser('application/json', parserOptions, parser)
}

function createNameError(): BadRequest {
  return new BadRequest(
    "The body has a name that is not allowed: '__proto__', or 'prototype' in 'constructor'",
  )
}

/**
 * Walks through a body only if it may have a fault, which its text tells much faster than a walk.
 */
function findFault(text: string, value: unknown, limits: Limits): Error | null {
  const isEscaped = text.includes('\\u') && ESCAPED_SURROGATE.test(text)
  return isEscaped || mayExceed(text, limits) ? walk(value, limits, isEscaped) : null
}

/**
 * Whether a body has to be walked through for its size. An item takes two characters and a level
 * one opening bracket, so that most bodies can't have too many.
 */
function mayExceed(text: string, { maxDepth, maxKeys }: Limits): boolean {
  return text.length > 2 * maxKeys || hasMore(text, '{', '[', maxDepth)
}

/** Whether a string has more than `most` of two characters together. */
function hasMore(text: string, first: string, second: string, most: number): boolean {
  let count = 0
  for (const character of [first, second]) {
    for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
      count += 1
      if (count > most) return true
    }
  }
  return false
}

/**
 * Returns what is wrong with a parsed body, `null` when it is within the limits and well-formed.
 */
function walk(value: unknown, limits: Limits, isEscaped: boolean): Error | null {
  let keys = 0
  // Level by level instead of by recursion: a client chooses the depth, and must not overflow the
  // stack.
  let level: object[] = isObject(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > limits.maxDepth) {
      return new BadRequest(`The body is nested deeper than ${limits.maxDepth} levels`)
    }
    const next: object[] = []
    for (const parent of level) {
      const children = Object.values(parent)
      keys += children.length
      if (keys > limits.maxKeys)
        return new BadRequest(`The body has more than ${limits.maxKeys} keys`)
      const malformed = isEscaped ? findMalformed(parent) : null
      if (malformed !== null) return malformed
      for (const child of children) if (isObject(child)) next.push(child)
    }
    level = next
  }
  return null
}

/**
 * Half a surrogate pair is no character. A database stores U+FFFD in its place, so that two
 * different user names could become the same.
 */
function findMalformed(parent: object): Error | null {
  for (const [key, value] of Object.entries(parent)) {
    if (!key.isWellFormed()) return new BadRequest('A name in the body is not well-formed Unicode')
    if (typeof value !== 'string' || value.isWellFormed()) continue
    return new BadRequest(`The text of ${quoteName(key)} is not well-formed Unicode`)
  }
  return null
}
