import authenticationClient from '@feathersjs/authentication-client'
import * as feathersErrors from '@feathersjs/errors'
import { feathers } from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import socketioClient from '@feathersjs/socketio-client'
import axios from 'axios'
import { io } from 'socket.io-client'
import superagent from 'superagent'
import type { ConnectionOptions, RestConnection } from '../../../src/client/index.ts'
import { authentication } from '../../../src/client/index.ts'
import * as core from '../../../src/core/index.ts'
import { CONNECTORS } from '../connectors.ts'

type CustomMethod = (data?: unknown, params?: object) => Promise<unknown>

/** A service of the server, as every client has it. */
export interface SharedRemote {
  readonly name: string
  find(params?: object): Promise<unknown>
  get(id: unknown, params?: object): Promise<unknown>
  create(data: unknown, params?: object): Promise<unknown>
  update(id: unknown, data: unknown, params?: object): Promise<unknown>
  patch(id: unknown, data: unknown, params?: object): Promise<unknown>
  remove(id: unknown, params?: object): Promise<unknown>
  readonly customMethod?: CustomMethod
  readonly shout?: CustomMethod
  readonly internal?: CustomMethod
  readonly nowhere?: CustomMethod
  methods(...names: string[]): SharedRemote
  getQuery(query: object): string
  on(event: string, listener: (record: unknown) => void): unknown
  hooks(hooks: object): unknown
}

/** What such a service is made of. */
interface ServiceSettings {
  readonly name: string
  readonly base: string
  readonly connection: unknown
  readonly options: object
}

/** A class of such services. */
export type SharedClass = new (settings: ServiceSettings) => SharedRemote

/** What goes between an application and its server. */
export interface SharedConnection {
  (app: never): void
  service(path: string): SharedRemote
  readonly Service: SharedClass
  /** Ends what is open between calls. */
  readonly close?: () => void
}

/** An application whose services are those of a server. */
export interface SharedApp {
  readonly rest: unknown
  configure(connection: SharedConnection): SharedApp
  use(path: string, service: object, options?: { readonly methods: readonly string[] }): SharedApp
  service(path: string): SharedRemote
  hooks(hooks: object): SharedApp
}

/** What a login resolves to. */
export interface SharedLogin {
  readonly accessToken: string
}

/** Where an application keeps the token of its login. */
export interface SharedStorage {
  getItem(key: string): Promise<string | null>
  setItem(key: string, value: string): Promise<void>
  removeItem(key: string): Promise<void>
}

/** An application that logs in. */
export interface LoginApp extends SharedApp {
  authenticate(data?: object): Promise<SharedLogin>
  reAuthenticate(force?: boolean): Promise<SharedLogin>
  logout(): Promise<SharedLogin | null>
  readonly authentication: { readonly authenticated: boolean }
  get(setting: 'authentication'): unknown
  get(setting: 'storage'): SharedStorage
  on(event: string, listener: (value: unknown) => void): unknown
}

/** A way to call services. */
export interface TestedClient {
  /** What sends the requests, `app.rest`. */
  readonly library: unknown
  createApp(): SharedApp
  /** Returns a connection, by a class of services in the place of the options or after them. */
  connect(
    url: string,
    options?: ConnectionOptions | SharedClass,
    Service?: SharedClass,
  ): SharedConnection
  /** Adds the authentication client to an application, and returns that. */
  addAuthentication(app: SharedApp, storage: SharedStorage): LoginApp
  /** The classes that errors of a server are made of. */
  readonly errors: Readonly<Record<'NotAcceptable' | 'NotFound', new () => Error>>
}

function addPlugin(app: SharedApp, plugin: unknown): LoginApp {
  return app.configure(plugin as SharedConnection) as LoginApp
}

const ours = Object.entries(CONNECTORS).map(([name, { library, connect }]) => {
  const client: TestedClient = {
    library,
    createApp: () => core.createApp() as unknown as SharedApp,
    connect: connect as unknown as (url: string) => RestConnection & SharedConnection,
    addAuthentication: (app, storage) => addPlugin(app, authentication({ storage })),
    errors: core,
  }
  return [name, client] as const
})

const LIBRARIES = { fetch, axios, superagent } as const

const official = Object.entries(LIBRARIES).map(([name, library]) => {
  const client: TestedClient = {
    library,
    createApp: () => feathers() as unknown as SharedApp,
    connect(url, options = {}, Service) {
      const connect = restClient.default(url)[name as 'fetch'] as unknown as (
        ...values: readonly unknown[]
      ) => SharedConnection
      return connect(library, options, Service)
    },
    addAuthentication: (app, storage) =>
      addPlugin(app, authenticationClient.default({ storage } as object)),
    errors: feathersErrors as unknown as TestedClient['errors'],
  }
  return [`official ${name}`, client] as const
})

/** Over a socket of its own for each connection. */
const overSockets: TestedClient = {
  library: undefined,
  createApp: () => feathers() as unknown as SharedApp,
  connect(url) {
    const options = { transports: ['websocket'], forceNew: true, reconnection: false }
    // A prefix of the services is none of sockets.
    const socket = io(new URL(url).origin, options)
    const connection = socketioClient.default(socket as never) as unknown as SharedConnection
    return Object.assign(connection, { close: () => void socket.close() })
  },
  addAuthentication: (app, storage) =>
    addPlugin(app, authenticationClient.default({ storage } as object)),
  errors: feathersErrors as unknown as TestedClient['errors'],
}

export const SOCKET_CLIENT = 'official socketio'

/** Our own client by each library, and the official one by those that it knows. */
export const CLIENTS: Readonly<Record<string, TestedClient>> = {
  ...Object.fromEntries([...ours, ...official]),
  [SOCKET_CLIENT]: overSockets,
}

export const OUR_CLIENTS: readonly string[] = ours.map(([name]) => name)
/** The official clients over HTTP. */
export const OFFICIAL_CLIENTS: readonly string[] = official.map(([name]) => name)
