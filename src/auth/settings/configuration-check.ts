import cluster from 'node:cluster'
import { SettingError } from '../../core/errors/setup-errors.ts'
import type { Application } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import { suggestName } from '../../core/options/name-suggestion.ts'
import type { OptionRule, OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isPlainObject, isStringList } from '../../core/value-kind.ts'
import type { Authentication, LoginExtension } from '../authentication.ts'
import type { EntityService } from '../entity-service.ts'
import { findEntityService } from '../entity-service.ts'
import { AUTH_OPTION, hasMethods } from '../settings-values.ts'
import { THROTTLE_RULES } from '../throttle/login-throttle.ts'
import { MemoryThrottleStore } from '../throttle/throttle-store.ts'
import { MemoryRevocationList } from '../tokens/token-revocation.ts'
import { ENTITY_RULES, getSection } from './authentication-config.ts'

const STRATEGY_NAMES: OptionRule = { expected: 'a list of strategy names', isValid: isStringList }

const RULES: OptionRules = {
  secret: AUTH_OPTION.stringOrList,
  ...ENTITY_RULES,
  authStrategies: STRATEGY_NAMES,
  parseStrategies: STRATEGY_NAMES,
  jwtOptions: OPTION.object,
  loginThrottle: {
    expected: 'an object with limits, true or false',
    isValid: (value) => typeof value === 'boolean' || isPlainObject(value),
    keys: THROTTLE_RULES,
  },
  revocation: {
    expected: 'true, false or an object with the methods revoke and isRevoked',
    isValid: (value) => typeof value === 'boolean' || hasMethods(value, ['revoke', 'isRevoked']),
  },
  oauth: OPTION.object,
  extensions: OPTION.stringList,
}

/** A setting of another package, which reads it itself. */
const EXTENSION: OptionRule = { expected: 'anything', isValid: () => true }

/**
 * Checks the configuration of a service, except what its strategies check themselves. In a worker of a cluster it warns
 * of state that each worker keeps separately.
 * @param sections the names of the strategies whose sections may override `entity`, `entityId` and `service`
 * @param logins contribute the rules of their settings
 * @throws {TypeError} a setting is missing or invalid; the message names it
 */
export function checkConfiguration(
  service: Authentication,
  sections: readonly string[],
  logins: readonly LoginExtension[],
): void {
  const { app, configKey, configuration, strategyNames } = service
  const { secret, entity, entityId, service: path } = configuration
  if (secret === undefined) {
    throw new SettingError(`A 'secret' must be provided in your ${configKey} configuration`)
  }
  const { authStrategies, parseStrategies = [] } = configuration
  // Strategy names are options too, both of registered strategies and of those registered later.
  const names = [strategyNames, authStrategies, parseStrategies].flat()
  const sectionRules = Object.fromEntries(names.map((name) => [name, OPTION.object]))
  const { extensions = [] } = configuration
  const listed = Array.isArray(extensions) ? extensions : []
  const others = Object.fromEntries(listed.map((name) => [name, EXTENSION]))
  const ofLogins = Object.fromEntries(logins.map(({ setting, rule }) => [setting, rule]))
  const own = { ...sectionRules, ...RULES, ...ofLogins }
  const rules = { ...others, ...own }
  const known = Object.keys(rules)
  const unknown = Object.keys(configuration).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const hint = suggestName(unknown, known) || `, allowed are ${known.join(', ')}.`
    throw new SettingError(
      `the setting '${configKey}': unknown option '${unknown}'${hint} If another package reads it, name it in '${configKey}.extensions'`,
    )
  }
  checkOptions(`the setting '${configKey}'`, configuration, rules)
  const taken = listed.find((name) => Object.hasOwn(own, name))
  if (taken !== undefined) {
    throw new SettingError(
      `'${configKey}.extensions' names '${taken}', which the authentication service reads itself`,
    )
  }
  checkNames(service)
  if (entity !== null) {
    for (const [name, value] of Object.entries({ service: path, entity })) {
      if (value !== undefined) continue
      throw new SettingError(`The '${name}' option is not set in the ${configKey} configuration`)
    }
    const entityService = checkExists(app, path, `${configKey}.service`)
    if (entityId === undefined && typeof entityService.id !== 'string') {
      throw new SettingError(
        `The '${path}' service does not have an 'id' property and no 'entityId' option is set.`,
      )
    }
  }
  for (const name of sections) checkSection(service, name)
  if (cluster.isWorker) warnOfMemory(service)
}

/** Each worker would have separate limits, and a token revoked in one would still be valid in the others. */
function warnOfMemory(service: Authentication): void {
  const { app, configKey, configuration, strategyNames } = service
  const { loginThrottle, revocation } = configuration
  const { store = null } = typeof loginThrottle === 'object' ? loginThrottle : {}
  const isLimited = strategyNames.some((name) => service.getStrategy(name)?.limitGuesses)
  const isCounted = isLimited && loginThrottle !== false
  const settings: string[] = []
  if (isCounted && (store === null || store instanceof MemoryThrottleStore)) {
    settings.push(`${configKey}.loginThrottle.store`)
  }
  if (revocation === true || revocation instanceof MemoryRevocationList) {
    settings.push(`${configKey}.revocation`)
  }
  if (settings.length === 0) return
  app.logger.warn(
    { settings },
    `Each worker of a cluster has its own memory: give '${settings.join("', '")}' a shared store, such as CollectionThrottleStore or CollectionRevocationList`,
  )
}

/** Strategies must be registered, or have a section if they are registered later. */
function checkNames({ configKey, configuration, strategyNames }: Authentication): void {
  for (const list of ['authStrategies', 'parseStrategies'] as const) {
    const unknown = configuration[list]?.find(
      (name) => !strategyNames.includes(name) && !Object.hasOwn(configuration, name),
    )
    if (unknown === undefined) continue
    const known = strategyNames.join(', ') || 'none'
    throw new SettingError(
      `'${configKey}.${list}' names '${unknown}', which is not a strategy: registered are ${known}`,
    )
  }
}

/** The options with which a section may override those of the service. */
function checkSection({ app, configKey, configuration }: Authentication, name: string): void {
  const { entity, entityId, service } = getSection(configuration, name)
  const place = `${configKey}.${name}`
  checkOptions(`the setting '${place}'`, { entity, entityId, service }, ENTITY_RULES)
  if (service === undefined) return
  checkExists(app, service, `${place}.service`)
  const isOther = toServicePath(service as string) !== toServicePath(configuration.service ?? '')
  const isSameEntity = entity === undefined || entity === configuration.entity
  // The id in a token would be looked up in the other service, where it may be another user's.
  if (isOther && isSameEntity && configuration.authStrategies.includes(name)) {
    throw new SettingError(
      `'${place}.service' is '${service}', but tokens are for '${configuration.service}': use a second AuthenticationService`,
    )
  }
}

/** @throws {TypeError} there is no service at the path. @param place how the error names the setting */
export function checkExists(app: Application, path: unknown, place: string): EntityService {
  const service = findEntityService(app, path)
  if (service !== null) return service
  throw new SettingError(`The '${path}' service that '${place}' names does not exist`)
}
