import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { createSigner, createVerifier } from 'fast-jwt'
import fastify from 'fastify'
import { createApp, fastifyApp, NotFound, rest } from 'remex'
import { AuthenticationService, authenticate, JwtStrategy } from 'remex/auth'
import { sendLoad, toRequest } from './load.ts'
import { pinLoad } from './pin.ts'
import { STEADY_FLAGS, toMedian } from './rest-measure.ts'
import { getRecord } from './rest-records.ts'

// What a request with a token costs: node build/bench/auth.js [--quick] [--gate]
//
// `bearer token + user` is a protected get: the token is verified, its user looked up in memory, a
// record answered. Plain Fastify does that by hand: fast-jwt with a key prepared once and its cache
// off, as that one hands the same payload to everybody; a look-up in a Map; a response schema. All
// requests bring the same token, as those of one client do, so that Remex knows it from its own
// cache; the column `no cache` has that cache off. `bad token 401` is a token signed by another
// secret, which is verified anew in each request everywhere, and answered with the same bytes.
// Measured is the CPU time of the server's process, as in bench/rest.ts.

type Kind = 'plain' | 'remex' | 'remex without cache'

const KINDS: readonly Kind[] = ['plain', 'remex', 'remex without cache']
const SECRET = 'a secret of the benchmark, with 32 bytes and more'
const AUDIENCE = 'https://bench.example'
const ISSUER = 'bench'
const USER_ID = 'record-0007'
const RECORD_ID = 'record-0042'
const CLAIMS = ['iat', 'exp', 'aud', 'iss', 'sub', 'jti']
const REFUSAL = {
  name: 'NotAuthenticated',
  message: 'invalid signature',
  code: 401,
  className: 'not-authenticated',
  data: { name: 'JsonWebTokenError' },
}

interface Column {
  readonly name: string
  readonly target: number
  readonly least: number
  readonly request: Buffer
  readonly status: number
  readonly body: unknown
}

/** CPU time per request in µs, by kind; one for each round. */
type Times = Record<Kind, number[]>

// Only where the load comes from: the servers are processes of this file too.
const pinServer = process.send === undefined ? pinLoad() : null

if (process.send === undefined) await compare()
else await serve(process.argv[2] as Kind)

async function compare(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      gate: { type: 'boolean', default: false },
    },
    strict: false,
  })
  const rounds = values.quick ? 3 : 7
  const columns = createColumns()
  const times = columns.map((): Times => ({ plain: [], remex: [], 'remex without cache': [] }))
  for (let index = 0; index < rounds; index += 1) {
    const turn = index % KINDS.length
    await measureRound([...KINDS.slice(turn), ...KINDS.slice(0, turn)], columns, times)
  }
  printRow('CPU efficiency', 'Remex', 'target', 'least', '', 'no cache', 'plain', 'Remex')
  printRow('---', '---:', '---:', '---:', '---', '---:', '---:', '---:')
  const areMet = columns.map((column, index) => printColumn(column, times[index]))
  if (values.gate && !areMet.every(Boolean)) process.exitCode = 1
}

function createColumns(): readonly Column[] {
  const get = { name: 'bearer token + user', target: 95, least: 80, status: 200 }
  const bad = { name: 'bad token 401', target: 150, least: 100, status: 401 }
  return [
    { ...get, request: toSignedRequest(SECRET), body: getRecord(RECORD_ID) },
    { ...bad, request: toSignedRequest(`not ${SECRET}`), body: REFUSAL },
  ]
}

function toSignedRequest(key: string): Buffer {
  const header = { alg: 'HS256', typ: 'access' } as const
  const sign = createSigner({ key, algorithm: 'HS256', header, expiresIn: 86_400_000 })
  const token = sign({ aud: AUDIENCE, iss: ISSUER, sub: USER_ID, jti: 'bench-token' })
  const request = toRequest('GET', `/records/${RECORD_ID}`).toString()
  return Buffer.from(request.replace('\r\n\r\n', `\r\nauthorization: Bearer ${token}\r\n\r\n`))
}

/** Each round has fresh processes; the servers take turns at each column. */
async function measureRound(
  kinds: readonly Kind[],
  columns: readonly Column[],
  times: readonly Times[],
): Promise<void> {
  const servers = await Promise.all(kinds.map(startServer))
  for (const column of columns) {
    for (const { port, kind } of servers) {
      const { status, body } = await sendLoad({ port, request: column.request, count: 6_000 })
      const isRight = isDeepStrictEqual(JSON.parse(body.toString()), column.body)
      if (status !== column.status || !isRight) {
        throw new Error(`'${column.name}' of ${kind} answers ${status} ${body}`)
      }
    }
  }
  for (const [index, column] of columns.entries()) {
    for (const { port, kind, askCpu } of servers) {
      const before = await askCpu()
      await sendLoad({ port, request: column.request, count: 5_000 })
      times[index]?.[kind].push(((await askCpu()) - before) / 5_000)
    }
  }
  for (const { child } of servers) child.kill()
}

/** Returns whether the least is met. */
function printColumn({ name, target, least }: Column, times: Times | undefined): boolean {
  if (times === undefined) return false
  const efficiencyOf = (kind: Kind): number =>
    toMedian(times[kind].map((time, index) => (100 * (times.plain[index] ?? Number.NaN)) / time))
  const efficiency = efficiencyOf('remex')
  const verdict = efficiency >= target ? 'met' : efficiency >= least ? 'least met' : 'MISSED'
  const goals = [`${efficiency.toFixed(0)} %`, `${target} %`, `${least} %`, verdict]
  const others = [`${efficiencyOf('remex without cache').toFixed(0)} %`]
  const costs = [times.plain, times.remex].map((one) => `${toMedian(one).toFixed(1)} µs`)
  printRow(name, ...goals, ...others, ...costs)
  return efficiency >= least
}

function printRow(...cells: readonly string[]): void {
  console.log(`| ${cells.join(' | ')} |`)
}

interface Server {
  readonly kind: Kind
  readonly port: number
  readonly child: ChildProcess
  /** CPU time of the process so far, in µs. */
  askCpu(): Promise<number>
}

async function startServer(kind: Kind): Promise<Server> {
  const child = fork(fileURLToPath(import.meta.url), [kind], { execArgv: [...STEADY_FLAGS] })
  const nextNumber = async (): Promise<number> => (await once(child, 'message'))[0]
  const port = await nextNumber()
  pinServer?.(child.pid)
  return {
    kind,
    port,
    child,
    askCpu() {
      const answer = nextNumber()
      child.send('cpu')
      return answer
    },
  }
}

/** What a child process does: it listens, and answers how much CPU time it has taken. */
async function serve(kind: Kind): Promise<void> {
  process.on('disconnect', () => process.exit())
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.(user + system)
  })
  process.send?.(kind === 'plain' ? await startPlain() : await startRemex(kind === 'remex'))
}

async function startRemex(hasCache: boolean): Promise<number> {
  const app = fastifyApp(createApp())
  app.configure(rest())
  const authentication = new AuthenticationService(app, 'authentication', {
    secret: SECRET,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt'],
    jwtOptions: { audience: AUDIENCE, issuer: ISSUER, ...(hasCache ? {} : { cacheSize: 0 }) },
  })
  authentication.register('jwt', new JwtStrategy())
  const get = async (id: string) => {
    const record = getRecord(id)
    if (record === undefined) throw new NotFound(`No record found for id '${id}'`)
    return record
  }
  app.use('authentication', authentication)
  app.use('users', { id: 'id', get })
  app.use('records', { get })
  app.service('records').hooks({ before: { all: [authenticate('jwt')] } })
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  return (server.address() as AddressInfo).port
}

async function startPlain(): Promise<number> {
  const server = fastify()
  const verify = createVerifier({
    key: SECRET,
    algorithms: ['HS256'],
    allowedAud: AUDIENCE,
    allowedIss: ISSUER,
    requiredClaims: CLAIMS,
    cache: false,
  })
  const { code: _code, data: _data, ...texts } = REFUSAL
  const string = { type: 'string' }
  const properties = Object.fromEntries(Object.keys(texts).map((name) => [name, string]))
  const data = { type: 'object', properties: { name: string } }
  const refusal = { type: 'object', properties: { ...properties, code: { type: 'integer' }, data } }
  const record = {
    type: 'object',
    properties: {
      ...{ id: string, name: string, email: string, createdAt: string },
      ...{ age: { type: 'integer' }, active: { type: 'boolean' } },
      address: { type: 'object', properties: { street: string, city: string, zip: string } },
      tags: { type: 'array', items: string },
    },
  }
  const schema = { response: { 200: record, 401: refusal } }
  server.get<{ Params: { id: string } }>('/records/:id', { schema }, async (request, reply) => {
    try {
      const [, token = ''] = request.headers.authorization?.split(' ') ?? []
      const { sub } = verify(token) as { sub: string }
      if (getRecord(sub) === undefined) throw new Error('The user is gone')
    } catch {
      return reply.code(401).send(REFUSAL)
    }
    return getRecord(request.params.id)
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  return (server.server.address() as AddressInfo).port
}
