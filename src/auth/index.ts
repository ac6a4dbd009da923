export type { AuthenticateHook, AuthenticateOptions } from './authenticate.ts'
export { authenticate, authenticateParams } from './authenticate.ts'
export type { AuthenticationConfiguration } from './authentication-config.ts'
export { AuthenticationService } from './authentication-service.ts'
export type { WithAuthentication } from './default-authentication.ts'
export { findAuthentication } from './default-authentication.ts'
export type { Entity } from './entity.ts'
export type { HashPasswordHook, HashPasswordOptions } from './hash-password.ts'
export { hashPassword, passwordHash } from './hash-password.ts'
export type { HookCall } from './hook-call.ts'
export type { JwtConfiguration } from './jwt-strategy.ts'
export { JwtStrategy } from './jwt-strategy.ts'
export type { LocalConfiguration } from './local-strategy.ts'
export { LocalStrategy } from './local-strategy.ts'
export type { LoginAttempt, LoginThrottleOptions } from './login-throttle.ts'
export { LoginThrottle } from './login-throttle.ts'
export type { PasswordOptions, PasswordVerdict } from './password.ts'
export { Passwords } from './password.ts'
export type { ProtectHook } from './protect.ts'
export { protect } from './protect.ts'
export type {
  AuthenticationHttpRequest,
  AuthenticationParams,
  AuthenticationResult,
  AuthenticationStrategy,
  ConnectionEvent,
  EntityService,
} from './strategy.ts'
export { AuthenticationBaseStrategy } from './strategy.ts'
export type { Counter, ThrottleCollection, ThrottleStore } from './throttle-store.ts'
export { CollectionThrottleStore, MemoryThrottleStore } from './throttle-store.ts'
export type { AccessTokenPayload } from './token-claims.ts'
export type { Algorithm } from './token-key.ts'
export type { TokenOptions } from './token-options.ts'
export type { RevocationCollection, RevocationList } from './token-revocation.ts'
export { CollectionRevocationList, MemoryRevocationList } from './token-revocation.ts'
