import type { Static, TArray, TNull, TNumber, TObject, TOptional, TString, TUnion } from 'typebox'
import { Type } from 'typebox'

/** The settings that all logins need; the authentication service checks its settings itself. */
type AuthenticationSettings = {
  secret: TString
  entity: TOptional<TUnion<[TString, TNull]>>
  entityId: TOptional<TString>
  service: TOptional<TString>
  authStrategies: TArray<TString>
  parseStrategies: TOptional<TArray<TString>>
}

/** The schemas of {@link defaultAppSettings}. */
type AppSettings = {
  authentication: TOptional<TObject<AuthenticationSettings>>
  origins: TOptional<TArray<TString>>
  paginate: TOptional<TObject<{ default: TNumber; max: TNumber }>>
  mongodb: TOptional<TString>
}

/**
 * The schemas of common settings by name: `authentication`, `origins`, `paginate` and `mongodb`. That of
 * `authentication` allows other settings inside it.
 */
export const defaultAppSettings: AppSettings = {
  authentication: Type.Optional(
    Type.Object({
      secret: Type.String(),
      entity: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      entityId: Type.Optional(Type.String()),
      service: Type.Optional(Type.String()),
      authStrategies: Type.Array(Type.String()),
      parseStrategies: Type.Optional(Type.Array(Type.String())),
    }),
  ),
  origins: Type.Optional(Type.Array(Type.String())),
  paginate: Type.Optional(
    Type.Object({ default: Type.Number(), max: Type.Number() }, { additionalProperties: false }),
  ),
  mongodb: Type.Optional(Type.String()),
}

/** The schema of an object with {@link defaultAppSettings} and other settings. */
export const defaultAppConfiguration: TObject<AppSettings> = Type.Object(defaultAppSettings, {
  $id: 'ApplicationConfiguration',
})

/** The common settings of applications. */
export type DefaultAppConfiguration = Static<typeof defaultAppConfiguration>
