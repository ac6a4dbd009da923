import type { Fail, ProviderSection } from './provider-section.ts'

/** How this application proves to a provider who it is. */
export interface Credentials {
  readonly key: string
  /** `null` for a public client, and for one with a private key. */
  readonly secret: string | null
  readonly privateKey: Readonly<Record<string, unknown>> | null
  /** `null` for a secret, sent as the provider takes it. */
  readonly authMethod: string | null
  readonly signingAlgorithm: string | null
}

/** What each way of the setting `token_endpoint_auth_method` needs, and nothing else. */
const NEEDS: Readonly<Record<string, 'secret' | 'private_key' | null>> = {
  client_secret_basic: 'secret',
  client_secret_post: 'secret',
  client_secret_jwt: 'secret',
  private_key_jwt: 'private_key',
  none: null,
}

/**
 * Returns the credentials in a section.
 * @throws {TypeError} something is missing, or is there and would not be used
 */
export function toCredentials(section: ProviderSection, fail: Fail): Credentials {
  const key = pickOne(section, ['key', 'client_id'], fail)
  const secret = pickOne(section, ['secret', 'client_secret'], fail)
  const { private_key: privateKey = null, token_endpoint_auth_method: authMethod = null } = section
  if (key === null) return fail("has no 'key': the id of your application")
  if (authMethod !== null) {
    const needed = NEEDS[authMethod]
    for (const [name, value] of Object.entries({ secret, private_key: privateKey })) {
      if (name === needed && value === null) fail(`has no '${name}', which '${authMethod}' needs`)
      if (name !== needed && value !== null)
        fail(`has '${name}', which '${authMethod}' does not use`)
    }
  } else if (secret === null && privateKey === null) {
    // The variable that it was to come from may not be set.
    fail("has no 'secret'; a public client says so: token_endpoint_auth_method: 'none'")
  } else if (secret !== null && privateKey !== null) {
    fail("has 'secret' and 'private_key': 'token_endpoint_auth_method' must say which is used")
  }
  return {
    key,
    secret,
    privateKey,
    authMethod: authMethod ?? (secret === null ? 'private_key_jwt' : null),
    signingAlgorithm: section.token_endpoint_auth_signing_alg ?? null,
  }
}

/** Returns the value of a setting that has two names. */
function pickOne(
  section: ProviderSection,
  [name, alias]: readonly [keyof ProviderSection, keyof ProviderSection],
  fail: Fail,
): string | null {
  const values = [section[name], section[alias]].filter((value) => value !== undefined)
  if (values.length > 1) fail(`has '${name}' and '${alias}', which are the same setting`)
  return values.length === 0 ? null : String(values[0])
}
