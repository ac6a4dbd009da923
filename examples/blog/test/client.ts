/** The parts of a response that tests read. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

/** A record, a page of records, or an error with its list of problems. */
interface Body extends Fields {
  readonly total?: number
  readonly data?: readonly Fields[]
}

interface Fields {
  readonly [name: string]: unknown
  readonly _id?: string
  readonly title?: string
  readonly text?: string
  readonly image?: string
  /** The place of the problem, such as `/email`. */
  readonly instancePath?: string
}

/** A client of the blog at this URL, for the user of this token. */
export class Client {
  readonly #url: string
  readonly #token: string | undefined

  constructor(url: string, token?: string) {
    this.#url = url
    this.#token = token
  }

  async send(method: string, path: string, body?: object): Promise<Answer> {
    const headers = new Headers()
    if (this.#token !== undefined) headers.set('authorization', `Bearer ${this.#token}`)
    // Bodies such as forms set their own content type.
    const isRaw = body instanceof FormData || body instanceof Blob
    if (body !== undefined && !isRaw) headers.set('content-type', 'application/json')
    const response = await fetch(this.#url + path, {
      method,
      headers,
      ...(body && { body: isRaw ? body : JSON.stringify(body) }),
    })
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : { text },
    }
  }

  get(path: string): Promise<Answer> {
    return this.send('GET', path)
  }

  post(path: string, body: object): Promise<Answer> {
    return this.send('POST', path, body)
  }

  patch(path: string, body: object): Promise<Answer> {
    return this.send('PATCH', path, body)
  }

  remove(path: string): Promise<Answer> {
    return this.send('DELETE', path)
  }
}
