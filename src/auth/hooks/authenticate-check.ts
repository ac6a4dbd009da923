import type { HookPlace } from '../../core/advice/hook-check.ts'
import type { Application } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import { suggestName } from '../../core/options/name-suggestion.ts'
import type { Authentication } from '../authentication.ts'
import { authenticationServices, findAuthentication } from '../default-authentication.ts'
import { warnOfOpenMethods } from './open-methods.ts'

interface Options {
  readonly service?: string
  readonly strategies: readonly string[]
}

/** What an `authenticate` hook without an authentication service lacks. */
export const NO_SERVICE =
  "there is no authentication service: app.use('authentication', new AuthenticationService(app))"

/**
 * Checks an `authenticate` hook when its application is set up: it would refuse each call for ever.
 * Warns of methods beside it that lack one.
 * @throws {TypeError} it runs too late, there is no authentication service, or no such strategy
 */
export function checkAuthenticate(place: HookPlace, { service: path, strategies }: Options): void {
  const names = strategies.map((name) => `'${name}'`).join(', ')
  const hook = `authenticate(${names}) in ${place.label}`
  if (place.group === 'after' || place.group === 'error') {
    throw new TypeError(`${hook} runs too late: register it in 'before' or 'around'`)
  }
  const app = place.app as Application
  const service = findService(app, path, hook)
  if ((service as object) === place.service) {
    throw new TypeError(`${hook} would refuse each login: remove it from this service`)
  }
  checkStrategies(service, strategies, hook)
  if (place.service !== undefined) warnOfOpenMethods(place.service)
}

function findService(app: Application, path: string | undefined, hook: string): Authentication {
  if (path !== undefined && !app.entries.has(toServicePath(path))) {
    const paths = [...app.entries.keys()]
    const hint = suggestName(path, paths)
    throw new TypeError(`${hook}: its option 'service' is '${path}', where no service is${hint}`)
  }
  const service = findAuthentication(app, path)
  if (typeof service?.authenticate === 'function') return service
  if (path !== undefined) {
    throw new TypeError(`${hook}: its option 'service' names '${path}', which logs nobody in`)
  }
  const keys = [...authenticationServices(app).keys()]
  if (keys.length === 0) throw new TypeError(`${hook}: ${NO_SERVICE}`)
  throw new TypeError(
    `${hook}: the setting 'defaultAuthentication' must be one of ${keys.join(', ')}`,
  )
}

/** A strategy that is registered later has a section in the settings, as everywhere. */
function checkStrategies(
  { strategyNames, configuration, configKey }: Authentication,
  strategies: readonly string[],
  hook: string,
): void {
  // Services that are no `AuthenticationService` may not tell.
  if (!Array.isArray(strategyNames)) return
  const isKnown = (name: string): boolean =>
    strategyNames.includes(name) || Object.hasOwn(configuration ?? {}, name)
  const unknown = strategies.find((name) => !isKnown(name))
  if (unknown === undefined) return
  const hint = suggestName(unknown, strategyNames)
  throw new TypeError(
    `${hook}: '${unknown}' is no strategy of '${configKey}'${hint || `, registered are ${strategyNames.join(', ') || 'none'}`}`,
  )
}
