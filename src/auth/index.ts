/**
 * The authentication service with its strategies, and the hooks that protect services and fields.
 * @module remex/auth
 */

export type { AuthenticationPayload, AuthenticationRequest } from '../core/index.ts'
export type {
  AccountChange,
  AccountLink,
  AccountNotice,
  AccountOptions,
} from './accounts/account-options.ts'
export { AccountService } from './accounts/account-service.ts'
export type { AccountTokenCollection } from './accounts/account-token.ts'
export type { ApiKeyConfiguration, ApiKeyRecord } from './api-keys/api-key.ts'
export { ApiKeyStrategy } from './api-keys/api-key-strategy.ts'
export type {
  ApiKey,
  CreatedApiKey,
  NewApiKey,
  ServedApiKeys,
} from './api-keys/own-api-key.ts'
export { requireScope } from './api-keys/require-scope.ts'
export type {
  AuthenticationHttpRequest,
  AuthenticationResult,
  AuthenticationStrategy,
  ConnectionEvent,
} from './authentication.ts'
export type { AuthenticationParams } from './authentication-params.ts'
export { AuthenticationService } from './authentication-service.ts'
export type { WithAuthentication } from './default-authentication.ts'
export { findAuthentication } from './default-authentication.ts'
export type { Entity, EntityService } from './entity-service.ts'
export type { AuthenticateHook, AuthenticateOptions } from './hooks/authenticate.ts'
export { authenticate, authenticateParams } from './hooks/authenticate.ts'
export type { HashPasswordHook, HashPasswordOptions } from './hooks/hash-password.ts'
export { hashPassword, passwordHash } from './hooks/hash-password.ts'
export type { HookCall } from './hooks/hook-call.ts'
export type { ProtectHook } from './hooks/protect.ts'
export { protect } from './hooks/protect.ts'
export type { PagingQuery } from './kept-records.ts'
export type { OAuthOptions } from './oauth/oauth.ts'
export { oauth } from './oauth/oauth.ts'
export type { OAuthParams } from './oauth/oauth-strategy.ts'
export { OAuthStrategy } from './oauth/oauth-strategy.ts'
export type { OAuthOutcome } from './oauth/page-address.ts'
export type { OAuthProfile } from './oauth/provider/profile.ts'
export type {
  OAuthDefaults,
  OAuthSettings,
  ProviderSection,
} from './oauth/settings/oauth-settings.ts'
export type { HashOptions, PasswordOptions, PasswordVerdict } from './passwords/passwords.ts'
export { Passwords } from './passwords/passwords.ts'
export type { SessionOptions } from './sessions/session-options.ts'
export type { ServedSessions, Session, SessionRecord } from './sessions/stored-session.ts'
export type { AuthenticationConfiguration } from './settings/authentication-config.ts'
export { AuthenticationBaseStrategy } from './strategies/base-strategy.ts'
export type { JwtConfiguration } from './strategies/jwt-strategy.ts'
export { JwtStrategy, JwtStrategy as JWTStrategy } from './strategies/jwt-strategy.ts'
export type { LocalConfiguration } from './strategies/local-strategy.ts'
export { LocalStrategy } from './strategies/local-strategy.ts'
export type { LoginAttempt, LoginThrottleOptions } from './throttle/login-throttle.ts'
export { LoginThrottle } from './throttle/login-throttle.ts'
export type { RateLimitHook, RateLimitOptions } from './throttle/rate-limit.ts'
export { rateLimit } from './throttle/rate-limit.ts'
export type {
  CallbackStore,
  Counter,
  ThrottleCollection,
  ThrottleStore,
} from './throttle/throttle-store.ts'
export { CollectionThrottleStore, MemoryThrottleStore } from './throttle/throttle-store.ts'
export type { AccessTokenPayload } from './tokens/token-claims.ts'
export type { Algorithm } from './tokens/token-key.ts'
export type { NewTokenOptions, TokenOptions } from './tokens/token-options.ts'
export type { RevocationCollection, RevocationList } from './tokens/token-revocation.ts'
export { CollectionRevocationList, MemoryRevocationList } from './tokens/token-revocation.ts'
