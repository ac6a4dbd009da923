import type { OptionRules } from '../../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../../core/options/option-check.ts'
import { isPlainObject } from '../../../core/value-kind.ts'
import type { AuthenticationConfiguration } from '../../settings/authentication-config.ts'
import { isOrigin } from '../../settings-values.ts'
import type { ProviderSection } from './provider-section.ts'
import { checkProviderSection, PROVIDER_RULES, SERVER_URL } from './provider-section.ts'

/** What the sections of all providers have in common, and where the services stand. */
export interface OAuthDefaults extends ProviderSection {
  /** The path below which the services stand. Default: `'/oauth'`. */
  readonly prefix?: string
  /** The address under which browsers reach the server. Default: that of each request. */
  readonly origin?: string
}

/** The section `oauth` of the settings of an authentication service. */
export interface OAuthSettings {
  /** The page after a login: a URL, or a path of this server. Default: none, the answer is JSON. */
  readonly redirect?: string
  /**
   * The origins that logins may start from, and return to. Wins over `redirect`. Default: the
   * setting `origins` of the application.
   */
  readonly origins?: readonly string[]
  /** Whether an origin of this computer stands for all its ports. Default: `false`. */
  readonly allowLoopbackPorts?: boolean
  /** For all providers, key by key. */
  readonly defaults?: OAuthDefaults
  /** Any other key is the section of the provider with this name. */
  readonly [provider: string]: unknown
}

const OWN_RULES: OptionRules = {
  redirect: { expected: 'a URL, or a path that begins with one /', isValid: isPageAddress },
  origins: {
    expected: "a list of origins as 'https://host:port'",
    isValid: (value) => Array.isArray(value) && value.length > 0 && value.every(isOrigin),
  },
  allowLoopbackPorts: OPTION.boolean,
  defaults: OPTION.object,
}

const DEFAULTS_RULES: OptionRules = {
  ...PROVIDER_RULES,
  prefix: {
    expected: "a path as '/oauth'",
    isValid: (value) => {
      if (typeof value !== 'string') return false
      const [start, ...names] = value.split('/')
      return start === '' && names.length > 0 && names.every((name) => /^[\w.~-]+$/.test(name))
    },
  },
  origin: SERVER_URL,
}

/** Returns the section `oauth`, `null` when there is none. */
export function findOAuthSettings({
  oauth,
}: AuthenticationConfiguration): Readonly<OAuthSettings> | null {
  return isPlainObject(oauth) ? oauth : null
}

/** Returns the names of the providers that have a section. */
export function getProviderNames(settings: OAuthSettings): string[] {
  return Object.keys(settings).filter((name) => !Object.hasOwn(OWN_RULES, name))
}

/**
 * Checks the section `oauth`, and the section of each provider in it.
 * @param place its name, `authentication.oauth`
 * @throws {TypeError} an unknown key, or a value that it can't have
 */
export function checkOAuthSettings(place: string, settings: OAuthSettings): void {
  const { redirect, defaults = {} } = settings
  const own = Object.entries(settings).filter(([name]) => Object.hasOwn(OWN_RULES, name))
  checkOptions(`the setting '${place}'`, Object.fromEntries(own), OWN_RULES)
  checkProviderSection(`${place}.defaults`, defaults, DEFAULTS_RULES)
  for (const name of getProviderNames(settings)) {
    // Also the last part of the path to which a provider sends people back.
    if (!/^[\w-]+$/.test(name) || name === 'callback') {
      throw new TypeError(`The setting '${place}' names a provider '${name}': it stands in paths`)
    }
    checkProviderSection(`${place}.${name}`, settings[name])
  }
  if (redirect?.endsWith('?') && !redirect.includes('#')) {
    throw new TypeError(
      `The setting '${place}.redirect' ends in '?': tokens would stand in a query, and in logs`,
    )
  }
}

function isPageAddress(value: unknown): boolean {
  if (typeof value !== 'string' || /[\s\\]/.test(value)) return false
  return /^\/(?!\/)/.test(value) || SERVER_URL.isValid(value.replace(/[?#].*$/, ''))
}
