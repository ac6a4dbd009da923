import { lookup as lookUpName } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { ADDRESS_REFUSED, ProviderError } from './provider-error.ts'

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
export function toProviderUrl(target: string, { allowPrivateNetwork }: ProviderNetwork): URL {
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
