import type { AddressInfo } from 'node:net'
import { createVerifier } from 'fast-jwt'
import type { FastifyRequest } from 'fastify'
import fastify from 'fastify'
import { AUDIENCE, CLAIMS, getOwnRecord, ISSUER, REFUSAL, SECRET, TYPE } from './auth-token.ts'
import { RECORD } from './rest-plain.ts'
import type { BenchRecord } from './rest-records.ts'
import { getRecord } from './rest-records.ts'

/** A request whose token is verified. */
type UserRequest = FastifyRequest<{ Params: { id: string } }> & { user: BenchRecord }

const STRING = { type: 'string' }

const ERROR = {
  type: 'object',
  properties: {
    ...{ name: STRING, message: STRING, code: { type: 'integer' }, className: STRING },
    data: { type: 'object', properties: { name: STRING } },
  },
}

interface PlainOptions {
  readonly hasCache: boolean
  /** Resolves to the session of a token, `null` for one that has ended. Default: sessions are not looked up. */
  readonly findSession?: (sid: string) => Promise<object | null>
}

interface Login {
  readonly user: BenchRecord
  readonly sid: string
}

/**
 * Starts plain Fastify with records for users with a token alone, all of it by hand. Returns its port.
 * The key is prepared once. The cache is that of fast-jwt, which hands the same payload to everybody.
 */
export async function startProtectedPlain({
  hasCache,
  findSession,
}: PlainOptions): Promise<number> {
  const server = fastify()
  const verify = createVerifier({
    key: SECRET,
    algorithms: ['HS256'],
    checkTyp: TYPE,
    allowedAud: AUDIENCE,
    allowedIss: ISSUER,
    requiredClaims: CLAIMS,
    cache: hasCache,
  })
  const readLogin = ({ headers }: FastifyRequest): Login | undefined => {
    try {
      const [, token = ''] = headers.authorization?.split(' ') ?? []
      const { sub, sid } = verify(token) as { sub: string; sid: string }
      const user = getRecord(sub)
      return user && { user, sid }
    } catch {
      return undefined
    }
  }
  server.decorateRequest('user', null)
  server.get<{ Params: { id: string } }>(
    '/records/:id',
    {
      schema: { response: { 200: RECORD, 401: ERROR } },
      preHandler(request, reply, done) {
        const login = readLogin(request)
        if (login === undefined) {
          reply.code(401).send(REFUSAL)
          return
        }
        ;(request as UserRequest).user = login.user
        if (findSession === undefined) return done()
        findSession(login.sid).then(
          (session) => (session === null ? reply.code(401).send(REFUSAL) : done()),
          done,
        )
      },
    },
    async (request) => getOwnRecord((request as UserRequest).user, request.params.id),
  )
  await server.listen({ port: 0, host: '127.0.0.1' })
  return (server.server.address() as AddressInfo).port
}
