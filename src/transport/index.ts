export * from '../core/index.ts'
export { authenticateRequest } from './authenticate-request.ts'
export type { ConfigurationOptions } from './configuration.ts'
export { configuration } from './configuration.ts'
export type { Configurator } from './configurator.ts'
export type {
  ErrorHandlerOptions,
  ErrorResponder,
  ErrorResponders,
} from './error-handler.ts'
export type { FastifyApplication, FastifyAppOptions, ServerMembers } from './fastify-app.ts'
export { fastifyApp } from './fastify-app.ts'
export type { FormOptions } from './form-body.ts'
export type { JsonOptions } from './json-body.ts'
export type { Middleware } from './middleware.ts'
export type { NotFoundOptions } from './not-found.ts'
export type { ParseAuthenticationOptions } from './parse-authentication.ts'
export type { QueryOptions, QueryParser } from './query-string.ts'
export type { FeathersParams } from './request-params.ts'
export { errorHandler, json, notFound, parseAuthentication, rest, urlencoded } from './rest.ts'
export { compress, cors, serveStatic } from './server-plugins.ts'
export type { RemexOptions } from './services-plugin.ts'
export { remex, remex as default } from './services-plugin.ts'
export type { Formatter, RestOptions } from './transport.ts'
