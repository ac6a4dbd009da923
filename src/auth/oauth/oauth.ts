import { OrderError } from '../../core/errors/setup-errors.ts'
import type { AnyApplication } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { findAuthentication } from '../default-authentication.ts'
import { OAuthCallbackService } from './services/callback-service.ts'
import { sendAnswer } from './services/flow-service.ts'
import { OAuthStartService } from './services/start-service.ts'
import { findOAuthSettings } from './settings/oauth-settings.ts'

/** Options of `oauth()`. */
export interface OAuthOptions {
  /** The strategy that verifies the token of an account to link. Default: `'jwt'`. */
  readonly linkStrategy?: string
  /** The path of the authentication service. Default: that of the default one. */
  readonly authService?: string
}

const RULES: OptionRules = { linkStrategy: OPTION.string, authService: OPTION.string }

/**
 * Returns a function for `app.configure()` that adds the services for logging in with an account at a provider:
 * `/oauth/:provider` and `/oauth/:provider/callback`. The setting `authentication.oauth` lists the providers; without
 * it no services are added and a warning is logged.
 * @throws {TypeError} an option is unknown; on the call of the returned function, if there is no authentication service
 */
export function oauth(options: OAuthOptions = {}): (app: AnyApplication) => void {
  checkOptions('oauth()', options, RULES)
  const { linkStrategy = 'jwt', authService } = options
  return (app) => {
    const authentication = findAuthentication(app, authService)
    if (authentication === null) {
      throw new OrderError(
        "oauth(): an authentication service must be registered before: app.use('authentication', …)",
      )
    }
    const settings = findOAuthSettings(authentication.configuration)
    if (settings === null) {
      const setting = `${authentication.configKey}.oauth`
      app.logger.warn({ setting }, 'oauth(): the setting is missing, so no provider can be used')
      return
    }
    const path = `${settings.defaults?.prefix ?? '/oauth'}/:provider`
    const pages = { serviceEvents: [], page: true }
    app.use(`${path}/callback`, new OAuthCallbackService(authentication, linkStrategy), pages)
    app.use(path, new OAuthStartService(authentication, linkStrategy), pages)
    for (const one of [`${path}/callback`, path]) {
      app.service(one).hooks({ around: { all: [sendAnswer] } })
    }
  }
}
