import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { Unavailable } from '../../core/index.ts'

/**
 * The environment lacks something that the application needs: a variable or a package, for example. The message says
 * what to do, and `exitWithMessage()` prints it without a stack.
 */
export class StartError extends Error {
  /** `'StartError'`. */
  override readonly name: string = 'StartError'
  /** `'NOT_READY'`. */
  readonly errorCode: string = 'NOT_READY'
}

/**
 * Prints why an application did not start, and ends the process with status 1: `start().catch(exitWithMessage)`. Prints
 * one line for a `StartError`, an invalid option, a port in use or a database that cannot be reached, and everything
 * about any other error.
 */
export function exitWithMessage(error: unknown): never {
  console.error(describeStartError(error) ?? inspect(error))
  // Not only the status: a database that is already connected would keep the process running.
  process.exit(1)
}

/** Returns one line about an error that the operator can resolve, `undefined` for any other error. */
function describeStartError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { errorCode } = error as { errorCode?: unknown }
  const code = errorCode === undefined ? '' : ` [${errorCode}]`
  if (error instanceof StartError) return error.message + code
  if (error instanceof TypeError && code !== '') return error.message + findPlace(error) + code
  if (isConnectionError(error)) return `MongoDB: ${error.message}${findPlace(error)}`
  if (error instanceof Unavailable) return describeUnavailable(error) + code
  const { syscall = '', code: sign } = error as SystemError
  return SYSTEM_ERRORS[`${syscall} ${sign}`.trim()]?.(error)
}

/** The driver's errors about a URL, its options, and a server that cannot be reached. */
const CONNECTION_ERRORS: ReadonlySet<string> = new Set([
  'MongoParseError',
  'MongoServerSelectionError',
  'MongoNetworkError',
])

/** The code of the server for a login that failed. */
const AUTHENTICATION_FAILED = 18

/** Returns whether an error of the driver concerns its connection: not a duplicate key, for example. */
function isConnectionError(error: Error & { readonly code?: unknown }): boolean {
  if (CONNECTION_ERRORS.has(error.name)) return true
  return error.name === 'MongoServerError' && error.code === AUTHENTICATION_FAILED
}

interface SystemError extends NodeJS.ErrnoException {
  readonly port?: number
  readonly address?: string
  readonly hostname?: string
}

/** What is wrong, by the system call and the code of the error. */
const SYSTEM_ERRORS: Readonly<Record<string, (error: SystemError) => string>> = {
  'listen EADDRINUSE': ({ port, address }) =>
    `Port ${port} of ${address} is in use: stop the program that uses it, or choose another PORT`,
  'listen EACCES': ({ port }) =>
    `Port ${port} is not allowed for this user: choose a PORT from 1024 on`,
  'listen EADDRNOTAVAIL': ({ address }) =>
    `${address} is not an address of this machine: choose another HOST, such as 127.0.0.1`,
  'getaddrinfo ENOTFOUND': ({ hostname }) =>
    `The host ${hostname} is unknown: choose another HOST, such as 127.0.0.1`,
  ERR_SOCKET_BAD_PORT: ({ message }) => message,
  // The embedded database.
  ERR_DIRECTORY_IN_USE: ({ message }) => message,
}

function describeUnavailable({ message, cause }: Unavailable): string {
  const reason = cause instanceof Error ? ` (${cause.message.replace(/\.$/, '')})` : ''
  return `${message}${reason}: check that it runs, and that its address and login are right`
}

/** Returns the innermost place in the application's files, ` (src/app.ts:12:3)`, or `''`. */
function findPlace({ stack = '' }: Error): string {
  for (const [, place = ''] of stack.matchAll(
    /^ +at .*?\(?((?:(?:file:\/\/)?\/|[A-Z]:\\)[^()\n]+:\d+:\d+)\)?$/gm,
  )) {
    const path = relative('', place.startsWith('file:') ? fileURLToPath(place) : place)
    if (!path.startsWith('..') && !path.includes('node_modules')) return ` (${path})`
  }
  return ''
}
