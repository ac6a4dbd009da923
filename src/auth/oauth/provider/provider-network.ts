import { lookup as lookUpName } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { BlockList, isIP, isIPv6 } from 'node:net'

/** Why a provider could not be asked, or its answer not be taken. */
export type ProviderFailure =
  | 'request'
  | 'address'
  | 'unreachable'
  | 'certificate'
  | 'timeout'
  | 'redirect'
  | 'encoding'
  | 'size'
  | 'status'
  | 'answer'

/**
 * A provider that is down, slow or lying. The message is a line for the log. Neither it nor the
 * cause has any header, body, path or query, where codes, tokens and secrets travel.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  /** Scheme, host and port of the provider: `https://accounts.example`. */
  readonly origin: string
  /** What went wrong, for programs; the message says it for people. */
  readonly failure: ProviderFailure

  /** @param problem completes the sentence `The provider at https://accounts.example …` */
  constructor(url: URL, failure: ProviderFailure, problem: string, cause?: Error) {
    const origin = getSafeOrigin(url)
    super(`The provider at ${origin} ${problem}`, cause === undefined ? undefined : { cause })
    this.origin = origin
    this.failure = failure
  }
}

/** Returns a URL without what may be secret in it; schemes without an origin stand for themselves. */
export function getSafeOrigin(url: URL): string {
  return url.origin === 'null' ? url.protocol : url.origin
}

/**
 * Returns the `ProviderError` that an error is or comes from: libraries that are given the fetch
 * wrap what it throws.
 */
export function findProviderError(error: unknown): ProviderError | undefined {
  const seen = new Set<unknown>()
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof ProviderError) return one
    seen.add(one)
  }
  return undefined
}

interface TechnicalFailure {
  /** The error of Node or of the filter: `CODE message`. */
  readonly pattern: RegExp
  readonly failure: ProviderFailure
  readonly problem: string
}

const ADDRESS_REFUSED =
  "is at an address that is not allowed; those of private networks are by 'allowPrivateNetwork'"

/** The first that matches; a code of Node that is not here is a failure to reach the provider. */
const TECHNICAL_FAILURES: readonly TechnicalFailure[] = [
  {
    pattern: /^ DNS lookup .* is not allowed\b/,
    failure: 'address',
    problem: ADDRESS_REFUSED,
  },
  {
    pattern: /^(?:\w*CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/,
    failure: 'certificate',
    problem: 'has a certificate that is not trusted',
  },
  {
    pattern: /^HPE_/,
    failure: 'answer',
    problem: 'sent an answer that is not valid HTTP',
  },
  {
    pattern: /^\w+ /,
    failure: 'unreachable',
    problem: 'can not be reached',
  },
]

/** Returns the error of a request that has failed; one that tells of a fault of ours as it is. */
export function createProviderError(url: URL, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ProviderError) return error
  const { code = '' } = error as NodeJS.ErrnoException
  const text = `${code} ${error.message}`
  const found = TECHNICAL_FAILURES.find(({ pattern }) => pattern.test(text))
  if (found === undefined) return error
  const problem = code === '' ? found.problem : `${found.problem} (${code})`
  return new ProviderError(url, found.failure, problem, createSafeCause(error, code))
}

const MAX_MESSAGE = 300

/**
 * Errors of Node carry received bytes and certificates, which no log should have; the message of a
 * certificate's names is as long as the provider likes.
 */
function createSafeCause(error: Error, code: string): Error {
  const cause = new Error(error.message.slice(0, MAX_MESSAGE))
  return code === '' ? cause : Object.assign(cause, { code })
}

/** Where requests to a provider may go. */
export interface ProviderNetwork {
  /**
   * Whether providers may have addresses of a private network or of this machine, and answer by
   * `http:` there.
   */
  readonly allowPrivateNetwork: boolean
  /** Finds the addresses of a name; `lookup` of `node:dns` by default. */
  readonly lookup?: LookupFunction | undefined
}

/**
 * Returns the URL of a provider. In the error of one that is not valid it is not repeated, as it may
 * have a secret.
 * @throws {TypeError} no valid URL
 * @throws {ProviderError} one that no request may go to
 */
export function parseProviderUrl(target: string, { allowPrivateNetwork }: ProviderNetwork): URL {
  if (!URL.canParse(target)) throw new TypeError('The URL of a provider is not valid')
  const url = new URL(target)
  const refuse = (problem: string): never => {
    throw new ProviderError(url, 'address', problem)
  }
  if (url.username !== '' || url.password !== '') refuse('has a user or a password in its URL')
  if (url.protocol === 'https:') return url
  if (url.protocol !== 'http:') refuse('has a URL that is not of https:')
  if (!allowPrivateNetwork) refuse("needs https:; private networks do not by 'allowPrivateNetwork'")
  return url
}

/**
 * Resolves to the head of the answer. A name is looked up once, and the addresses that are checked
 * are those which are connected to: it can't have another one later. No connection is kept: one that
 * the provider has just closed would lose a code, which can be sent only once.
 * @throws {ProviderError} an address that no request may go to
 */
export async function sendRequest(
  message: Request,
  url: URL,
  { allowPrivateNetwork, lookup = lookUpName as LookupFunction }: ProviderNetwork,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const guard = chooseGuard(url, allowPrivateNetwork)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && guard.isRefused(host)) throw createRefusal(url, guard)
  // Loaded when it is used: most applications have no login that needs it.
  const { useAgent } = await import('request-filtering-agent')
  const body = new Uint8Array(await message.arrayBuffer())
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'http:' ? requestHttp : requestHttps)(url, {
      agent: useAgent(url.protocol, { allowPrivateIPAddress: allowPrivateNetwork }),
      lookup: createLookup(url, guard, lookup),
      method: message.method,
      headers: Object.fromEntries(message.headers),
      // Without it, a variable of the environment could have any certificate accepted.
      rejectUnauthorized: true,
      signal,
    })
    request.on('error', reject)
    request.once('response', (answer) => {
      // Without it, the reader of the body would learn only that it has been cut off, and nothing
      // at all of one whose length is not given: it ends with its connection, whoever closes that.
      request.on('error', (error) => answer.destroy(error))
      resolve(answer)
    })
    // An answer that changes the protocol is neither a response nor an error.
    request.once('close', () => {
      reject(new ProviderError(url, 'answer', 'sent something that is no answer'))
    })
    request.end(body)
  })
}

/** Addresses that are refused besides those that the filtering agent refuses. */
interface Guard {
  readonly isRefused: (address: string) => boolean
  readonly problem: string
}

/** Without link-local addresses, where no provider is, but where clouds serve their secrets. */
const PRIVATE = createList([
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['::1', 128],
  ['fc00::', 7],
])

const HTTP: Guard = {
  isRefused: (address) => !isIn(PRIVATE, address),
  problem: 'needs https:, as it is in no private network',
}

/** `::127.0.0.1` and the like, which the filtering agent takes for public ones. */
const IPV4_COMPATIBLE = createList([['::', 96]])

const PUBLIC: Guard = {
  isRefused: (address) => isIn(IPV4_COMPATIBLE, address),
  problem: ADDRESS_REFUSED,
}

const ANYWHERE: Guard = { isRefused: () => false, problem: ADDRESS_REFUSED }

function chooseGuard({ protocol }: URL, allowPrivateNetwork: boolean): Guard {
  if (protocol === 'http:') return HTTP
  return allowPrivateNetwork ? ANYWHERE : PUBLIC
}

function createList(subnets: readonly (readonly [network: string, prefix: number])[]): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of subnets) {
    list.addSubnet(network, prefix, isIPv6(network) ? 'ipv6' : 'ipv4')
  }
  return list
}

/** IPv6 addresses that stand for an IPv4 one are in its subnets. */
function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

function createRefusal(url: URL, guard: Guard): ProviderError {
  return new ProviderError(url, 'address', guard.problem)
}

function createLookup(url: URL, guard: Guard, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, options, (error, found, family) => {
      const addresses =
        typeof found === 'string' ? [found] : (found ?? []).map((one) => one.address)
      const refusal = addresses.some(guard.isRefused) ? createRefusal(url, guard) : null
      callback(error ?? refusal, found, family)
    })
}
