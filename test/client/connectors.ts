import axios from 'axios'
import superagent from 'superagent'
import { request } from 'undici'
import type { ConnectionOptions, RestConnection } from '../../src/client/index.ts'
import { rest } from '../../src/client/index.ts'

/** An HTTP library that a server can be reached by, and what it can not do. */
interface Connector {
  /** Returns a connection to the server at a URL. */
  connect(url: string, options?: ConnectionOptions): RestConnection
  /** Whether it gives out bodies as streams. */
  readonly hasStreams: boolean
  /** Whether it follows redirects of reads. */
  readonly followsRedirects: boolean
}

const ALL = { hasStreams: true, followsRedirects: true }

/** Every HTTP library: a suite runs once for each. */
export const CONNECTORS: Readonly<Record<string, Connector>> = {
  ofetch: { connect: (url, options) => rest(url).ofetch(options), ...ALL },
  fetch: { connect: (url, options) => rest(url).fetch(fetch, options), ...ALL },
  undici: {
    connect: (url, options) => rest(url).undici({ request }, options),
    ...{ hasStreams: true, followsRedirects: false },
  },
  axios: { connect: (url, options) => rest(url).axios(axios, options), ...ALL },
  superagent: {
    connect: (url, options) => rest(url).superagent(superagent, options),
    ...{ hasStreams: false, followsRedirects: true },
  },
}
