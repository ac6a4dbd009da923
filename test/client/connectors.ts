import axios from 'axios'
import { ofetch } from 'ofetch'
import superagent from 'superagent'
import type {
  ConnectionOptions,
  RemoteServiceClass,
  RestConnection,
} from '../../src/client/index.ts'
import { rest } from '../../src/client/index.ts'

/** An HTTP library that a server can be reached by, and what it can not do. */
interface Connector {
  /** What is given out as `app.rest`. */
  readonly library: unknown
  /** Returns a connection to the server at a URL. */
  connect(
    url: string,
    options?: ConnectionOptions | RemoteServiceClass,
    Service?: RemoteServiceClass,
  ): RestConnection
  /** Whether it gives out bodies as streams. */
  readonly hasStreams: boolean
  /** Whether it follows redirects of reads. */
  readonly followsRedirects: boolean
}

const ALL = { hasStreams: true, followsRedirects: true }

/** Every HTTP library: a suite runs once for each. */
export const CONNECTORS: Readonly<Record<string, Connector>> = {
  ofetch: { library: ofetch, connect: (url, ...given) => rest(url).ofetch(...given), ...ALL },
  fetch: { library: fetch, connect: (url, ...given) => rest(url).fetch(fetch, ...given), ...ALL },
  axios: { library: axios, connect: (url, ...given) => rest(url).axios(axios, ...given), ...ALL },
  superagent: {
    library: superagent,
    connect: (url, ...given) => rest(url).superagent(superagent, ...given),
    ...{ hasStreams: false, followsRedirects: true },
  },
}
