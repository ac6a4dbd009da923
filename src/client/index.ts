/**
 * Calls the services of a server as if they were local; runs in browsers too.
 * @module remex/client
 */

export type { ErrorResponse } from './answers/response-error.ts'
export type {
  AuthenticationClientClass,
  AuthenticationOptions,
  LoginMembers,
} from './authentication/authentication.ts'
export { authentication } from './authentication/authentication.ts'
export { AuthenticationClient } from './authentication/authentication-client.ts'
export type { AuthenticationClientOptions } from './authentication/client-options.ts'
export type { LocationWithHash } from './authentication/location-token.ts'
export type {
  LoginClaims,
  LoginData,
  LoginProof,
  LoginResult,
  LoginUser,
} from './authentication/login-result.ts'
export type { TokenStorage } from './authentication/token-storage.ts'
export { MemoryStorage } from './authentication/token-storage.ts'
export type { ClientOptions, ClientService } from './client.ts'
export { type Client, createClient } from './client.ts'
export type {
  Answer,
  ConnectionOptions,
  ConnectionParams,
  PreparedRequest,
  ResponseType,
} from './connection.ts'
export type { AxiosLibrary } from './libraries/axios-connection.ts'
export { AxiosClient } from './libraries/axios-connection.ts'
export type { FetchAnswer, FetchFunction, FetchOptions } from './libraries/fetch-connection.ts'
export { FetchClient, OfetchClient } from './libraries/fetch-connection.ts'
export type { SuperagentLibrary } from './libraries/superagent-connection.ts'
export { SuperagentClient } from './libraries/superagent-connection.ts'
export type { Received, ReceivedResult, Sendable, SendableQuery, SentQuery } from './received.ts'
export type { RemoteServiceSettings } from './remote-service.ts'
export { RemoteService } from './remote-service.ts'
export type {
  ClientParams,
  CustomMethods,
  ListedMethods,
  RemoteChange,
  RemoteCreate,
  RemoteFind,
  RemoteGet,
  RemoteRemove,
  RemoteServiceOf,
  RemoteServices,
} from './remote-services.ts'
export type { RequestHeaders } from './requests/request-headers.ts'
export type { Connector, RemoteServiceClass, RestConnection, RestConnectors } from './rest.ts'
export { rest } from './rest.ts'
