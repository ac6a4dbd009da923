/**
 * Services over REST on Fastify, as a plugin or with their own server, and all of `remex/core`.
 * @module remex
 */

export * from '../core/index.ts'
export type { FetchLimits, SafeFetchOptions, SentRequest } from '../core/network/safe-fetch.ts'
export { SafeFetchError, safeFetch } from '../core/network/safe-fetch.ts'
export type { BodyParserPlugin } from './body-parsers.ts'
export { bodyParsers } from './body-parsers.ts'
export type {
  ErrorHandlerOptions,
  ErrorResponder,
  ErrorResponders,
} from './errors/error-handler.ts'
export type { NotFoundOptions } from './errors/not-found.ts'
export type { Middleware } from './middleware.ts'
export type { DeveloperPageOptions } from './observing/developer-page.ts'
export { developerPage } from './observing/developer-page.ts'
export type {
  OpenApiDocument,
  OpenApiDocumentOptions,
  OpenApiInfo,
  OpenApiServer,
  OpenApiTag,
  ServiceDocumentOptions,
} from './openapi/document.ts'
export { openapiDocument } from './openapi/document.ts'
export type { OpenApiOptions } from './openapi/openapi.ts'
export { openapi } from './openapi/openapi.ts'
export type { ParseAuthenticationOptions } from './parse-authentication.ts'
export { authenticateRequest } from './parse-authentication.ts'
export type { QueryOptions, QueryParser } from './parsing/query-string.ts'
export type { FormOptions, JsonOptions } from './parsing/request-body.ts'
export type { FeathersParams } from './request-params.ts'
export type { Formatter, RestOptions } from './rest-options.ts'
export type { ServiceLookup } from './routing/service-router.ts'
export type { ConfigurationOptions } from './server/configuration.ts'
export { configuration } from './server/configuration.ts'
export { createServerApp as createApp } from './server/create-app.ts'
export type { FastifyApplication, FastifyAppOptions, ServerMembers } from './server/fastify-app.ts'
export { fastifyApp } from './server/fastify-app.ts'
export {
  errorHandler,
  json,
  notFound,
  parseAuthentication,
  rest,
  urlencoded,
} from './server/rest.ts'
export { compress, cors, serveStatic } from './server/server-plugins.ts'
export type { Configurator } from './server/server-setup.ts'
export { exitWithMessage, StartError } from './server/start-error.ts'
export type { RemexOptions } from './services-plugin.ts'
export { remex, remex as default } from './services-plugin.ts'
