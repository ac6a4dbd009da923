import t from 'tap'
import { resolveProvider } from '../../../src/auth/oauth/provider-settings.ts'

const PLACE = 'authentication.oauth.example'
const SECURE = 'https://example.com/'
const INSECURE = 'http://example.com/'

for (const [what, section] of [
  ['an issuer', { issuer: INSECURE }],
  ['one of the URLs', { authorize_url: SECURE, access_url: SECURE, profile_url: INSECURE }],
] as const) {
  t.test(`refuses ${what} without TLS, unless private networks are allowed`, async (t) => {
    const resolve = (allowPrivateNetwork: boolean) =>
      resolveProvider(
        PLACE,
        { example: { key: 'app', ...section, allowPrivateNetwork } },
        'example',
      )
    const message =
      "The setting 'authentication.oauth.example' has 'http://example.com/': only a provider with 'allowPrivateNetwork: true' may have http:"
    t.throws(() => resolve(false), new TypeError(message))
    t.match(resolve(true), { key: 'app', allowPrivateNetwork: true })
  })
}
