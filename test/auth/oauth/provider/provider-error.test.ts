import t from 'tap'
import {
  findProviderError,
  ProviderError,
} from '../../../../src/auth/oauth/provider/provider-fetch.ts'
import { getSafeOrigin, toFetchError } from '../../../../src/core/network/safe-fetch.ts'
import { toFailure } from './fake-provider.ts'

const url = new URL('https://provider.example:8443/a?b#c')
const error = new ProviderError(url, 'did not answer within 5000 ms')

t.test('says who did what', async (t) => {
  t.ok(error instanceof Error)
  t.equal(error.name, 'ProviderError')
  t.equal(
    error.message,
    'The provider at https://provider.example:8443 did not answer within 5000 ms',
  )
  t.notOk('cause' in error)
})

t.test('of a URL, only the origin is told', async (t) => {
  t.equal(getSafeOrigin(new URL('https://a:b@c.example/d?e#f')), 'https://c.example')
  t.equal(getSafeOrigin(new URL('mailto:ann@a.example')), 'mailto:')
})

t.test('is found in the errors that were made of it', async (t) => {
  const wrapped = new Error('outer', { cause: new TypeError('inner', { cause: error }) })
  t.equal(findProviderError(error), error)
  t.equal(findProviderError(wrapped), error)
})

t.test('is not found in anything else, circles included', async (t) => {
  const circle = new Error('circle')
  circle.cause = circle
  for (const other of [circle, new Error('other'), undefined, null, 'text', { cause: error }]) {
    t.equal(findProviderError(other), undefined)
  }
})

t.test('technical errors become one, without what Node adds to them', async (t) => {
  const technical: readonly (readonly [code: string, failure: string])[] = [
    ['ECONNREFUSED', 'unreachable'],
    ['EAI_AGAIN', 'unreachable'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'unreachable'],
    ['HPE_INVALID_CONSTANT', 'answer'],
    ['CERT_HAS_EXPIRED', 'certificate'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'certificate'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate'],
  ]
  for (const [code, failure] of technical) {
    const cause = Object.assign(new Error('x'.repeat(9000)), { code, rawPacket: 'bytes', cert: {} })
    const made = toFetchError(url, cause, ProviderError) as ProviderError
    t.equal(toFailure(made), failure, code)
    t.match(made.message, `(${code})`)
    t.notOk('cause' in made)
  }
})

t.test('a fault of ours stays what it is, and so does a ProviderError', async (t) => {
  for (const other of [new TypeError('of ours'), error, 'text', undefined]) {
    t.equal(toFetchError(url, other, ProviderError), other)
  }
})
