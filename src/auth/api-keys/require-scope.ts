import { LoginRequired, ScopeRequired } from '../../core/errors/coded-errors.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import { describeFunction, nameFunction } from '../../core/function-metadata.ts'
import type { Application } from '../../core/index.ts'
import { suggestName } from '../../core/options/name-suggestion.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { authenticationServices } from '../default-authentication.ts'
import type { AuthenticateHook } from '../hooks/authenticate.ts'
import { findProof, getTokenClaims } from '../proof.ts'
import { ApiKeyStrategy } from './api-key-strategy.ts'

/**
 * Returns a before or around hook that rejects API keys without a scope: `requireScope('posts:read')`. Register it
 * after `authenticate`. Access tokens have no scopes and pass, but a token with a claim `scopes` is checked like a key.
 * Internal calls pass.
 * @throws {Forbidden} in calls: the key does not have this scope
 * @throws {NotAuthenticated} in calls: no `authenticate` hook has accepted the caller before
 * @throws {TypeError} when the application is set up: no key can have this scope
 */
export function requireScope(scope: string): AuthenticateHook {
  if (!isNonEmptyString(scope)) {
    throw new HookError("The requireScope hook needs a scope: requireScope('posts:read')")
  }
  const hook: AuthenticateHook = ({ params, type }, next) => {
    if (params.provider) {
      if (findProof(params.authentication) === undefined)
        throw new LoginRequired('Not authenticated')
      const { scopes } = getTokenClaims(params.authentication)
      const isAllowed = scopes === undefined || (Array.isArray(scopes) && scopes.includes(scope))
      if (!isAllowed) throw new ScopeRequired(`The scope '${scope}' is needed`)
    }
    return type === 'around' ? next?.() : undefined
  }
  return describeFunction(nameFunction('requireScope', hook), {
    hookArguments: [scope],
    checkPlace: ({ app, group, label }) => {
      if (group === 'after' || group === 'error') {
        throw new HookError(
          `requireScope('${scope}') in ${label} runs too late: register it in 'before'`,
        )
      }
      const known = listScopes(app as Application)
      if (known === null || known.includes(scope)) return
      const hint = suggestName(scope, known) || `, there are ${known.join(', ') || 'none'}`
      throw new HookError(
        `requireScope('${scope}') in ${label}: no API key can have this scope${hint}`,
      )
    },
  })
}

/** Returns the scopes that API keys may have, `null` if there are no API keys. */
function listScopes(app: Application): readonly string[] | null {
  const strategies = [...authenticationServices(app).values()]
    .flatMap((service) => service.strategyNames.map((name) => service.getStrategy(name)))
    .filter((strategy) => strategy instanceof ApiKeyStrategy)
  if (strategies.length === 0) return null
  return strategies.flatMap((strategy) => strategy.configuration.scopes)
}

describeFunction(requireScope, { hookFactory: "requireScope('posts:read')" })
