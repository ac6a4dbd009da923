import type { Authentication } from '../../auth/authentication.ts'
import type { JSONSchema, MethodSchemas } from '../../core/services/service-schemas.ts'

/** Returns what a login sends and gets, by the settings of an authentication service. */
export function toLoginSchemas({ configuration }: Authentication, method: string): MethodSchemas {
  const { authStrategies, entity } = configuration
  const user = entity == null ? {} : { [entity]: { type: 'object', additionalProperties: true } }
  const result: JSONSchema = {
    type: 'object',
    required: ['accessToken', 'authentication'],
    properties: {
      accessToken: { type: 'string', description: 'The token for `Authorization: Bearer …`.' },
      authentication: { type: 'object', additionalProperties: true },
      ...user,
    },
    additionalProperties: true,
  }
  const data: JSONSchema = {
    type: 'object',
    required: ['strategy'],
    properties: {
      strategy: { type: 'string', enum: [...authStrategies] },
      ...toCredentials(configuration, authStrategies),
    },
    additionalProperties: true,
  }
  const query: JSONSchema = { type: 'object', additionalProperties: false }
  return { data: method === 'remove' ? undefined : data, query, result }
}

/** The fields that the strategies of this package read. */
function toCredentials(
  configuration: Authentication['configuration'],
  strategies: readonly string[],
): Readonly<Record<string, JSONSchema>> {
  const local = configuration['local'] as
    | { readonly usernameField?: string; readonly passwordField?: string }
    | undefined
  const { usernameField, passwordField } = local ?? {}
  return {
    ...(usernameField === undefined ? {} : { [usernameField]: { type: 'string' } }),
    ...(passwordField === undefined
      ? {}
      : { [passwordField]: { type: 'string', format: 'password' } }),
    ...(strategies.includes('jwt') ? { accessToken: { type: 'string' } } : {}),
  }
}
