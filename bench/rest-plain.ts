import type { AddressInfo } from 'node:net'
import type { FastifySchema, RouteShorthandOptions } from 'fastify'
import fastify from 'fastify'
import type { NewRecord } from './rest-records.ts'
import { createRecord, findRecords, getRecord } from './rest-records.ts'

export interface PlainOptions {
  /** Whether answers are written by serializers compiled from response schemas. */
  readonly hasSchema: boolean
  /** Takes the place of Fastify's own parser, which leaves brackets as they are. */
  readonly parseQuery?: (text: string) => Record<string, unknown>
}

const STRING = { type: 'string' }
const INTEGER = { type: 'integer' }

/** The response schema of a record. */
export const RECORD = {
  type: 'object',
  properties: {
    id: STRING,
    name: STRING,
    email: STRING,
    age: INTEGER,
    active: { type: 'boolean' },
    address: { type: 'object', properties: { street: STRING, city: STRING, zip: STRING } },
    tags: { type: 'array', items: STRING },
    createdAt: STRING,
  },
}

const PAGE = {
  type: 'object',
  properties: {
    total: INTEGER,
    limit: INTEGER,
    skip: INTEGER,
    data: { type: 'array', items: RECORD },
  },
}

const ERROR = {
  type: 'object',
  properties: { name: STRING, message: STRING, code: INTEGER, className: STRING },
}

/** What programs for plain Fastify throw: an error with a status, and with a stack as any other. */
class HttpError extends Error {
  readonly statusCode: number

  constructor(statusCode: number, name: string, message: string) {
    super(message)
    this.statusCode = statusCode
    this.name = name
  }
}

/** Starts the server that Remex is compared with: routes by hand, the same answers. Returns its port. */
export async function startPlain({ hasSchema, parseQuery }: PlainOptions): Promise<number> {
  const server = fastify(
    parseQuery === undefined ? {} : { routerOptions: { querystringParser: parseQuery } },
  )
  const answers = (response: FastifySchema['response']): RouteShorthandOptions =>
    hasSchema ? { schema: { response } } : {}

  server.get<{ Params: { id: string } }>(
    '/records/:id',
    answers({ 200: RECORD, 404: ERROR }),
    async (request, reply) => {
      const { id } = request.params
      const record = getRecord(id)
      if (record !== undefined) return record
      const message = `No record found for id '${id}'`
      return reply.code(404).send({ name: 'NotFound', message, code: 404, className: 'not-found' })
    },
  )
  server.get<{ Params: { id: string } }>(
    '/tagged/:id',
    answers({ 200: RECORD, 404: ERROR }),
    async (request, reply) => {
      const record = getRecord(request.params.id)
      if (record === undefined) throw new HttpError(404, 'NotFound', 'No record found')
      const tag = `"v-${record.age}"`
      reply.header('etag', tag)
      if (request.headers['if-none-match'] === tag) return reply.code(304).send()
      return record
    },
  )
  server.get<{ Params: { id: string } }>(
    '/thrown/:id',
    answers({ 200: RECORD, 404: ERROR }),
    async (request) => {
      throw new HttpError(404, 'NotFound', `No record found for id '${request.params.id}'`)
    },
  )
  server.get<{ Querystring: Record<string, unknown> }>(
    '/records',
    answers({ 200: PAGE }),
    async (request) => findRecords(request.query),
  )
  server.post<{ Body: NewRecord }>('/records', answers({ 201: RECORD }), async (request, reply) => {
    const record = createRecord(request.body)
    reply.code(201).header('location', `/records/${record.id}`)
    return record
  })
  // No promises where nothing waits.
  server.setNotFoundHandler((request, reply) => {
    const data = { url: request.originalUrl }
    const error = {
      name: 'NotFound',
      message: 'Page not found',
      code: 404,
      className: 'not-found',
      data,
    }
    reply.code(404).send(error)
  })
  server.setErrorHandler((error: HttpError, _request, reply) => {
    const { statusCode: code, name, message } = error
    reply.code(code).send({ name, message, code, className: 'not-found' })
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  return (server.server.address() as AddressInfo).port
}
