import type { Test } from 'tap'
import t from 'tap'
import { testAnswers } from './suite/answers.ts'
import type { Cases, Cell } from './suite/cell.ts'
import { createCell } from './suite/cell.ts'
import { CLIENTS, OFFICIAL_CLIENTS, OUR_CLIENTS, SOCKET_CLIENT } from './suite/clients.ts'
import { testConnections } from './suite/connections.ts'
import { testCustomMethods } from './suite/custom-methods.ts'
import { DIFFERENCES } from './suite/differences.ts'
import { testErrors } from './suite/errors.ts'
import { testEvents } from './suite/events.ts'
import { COMMON } from './suite/expectations.ts'
import { testExtensions } from './suite/extensions.ts'
import { testHeaders } from './suite/headers.ts'
import { testIds } from './suite/ids.ts'
import { testLogins } from './suite/logins.ts'
import { testMethods } from './suite/methods.ts'
import { pickNamed } from './suite/named-keys.ts'
import { testPages } from './suite/pages.ts'
import { testQueries } from './suite/queries.ts'
import { testRoutes } from './suite/routes.ts'
import type { ServerName } from './suite/servers.ts'
import { SERVERS } from './suite/servers.ts'
import { SKIPPED } from './suite/skipped.ts'

interface Topic {
  readonly test: (t: Cases, cell: Cell) => void
  /** The clients that it is run with. Default: all. */
  readonly clients?: readonly string[]
}

const TOPICS: Readonly<Record<string, Topic>> = {
  methods: { test: testMethods },
  ids: { test: testIds },
  queries: { test: testQueries },
  pages: { test: testPages },
  'route placeholders': { test: testRoutes },
  headers: { test: testHeaders },
  'custom methods': { test: testCustomMethods },
  'events and hooks': { test: testEvents },
  answers: { test: testAnswers },
  errors: { test: testErrors },
  connections: { test: testConnections },
  logins: { test: testLogins },
  'what only our own client can do': { test: testExtensions, clients: OUR_CLIENTS },
}

/** The clients that each server is called by. */
const COLUMNS: Readonly<Record<ServerName, readonly string[]>> = {
  'Remex, a plugin of Fastify': Object.keys(CLIENTS),
  // The other way to serve has the same routes: clients of other people show that it does.
  'Remex, a server of its own': [...OFFICIAL_CLIENTS, SOCKET_CLIENT],
  'Feathers on Express': [...OUR_CLIENTS, ...OFFICIAL_CLIENTS],
}

const cells = Object.entries(COLUMNS).flatMap(([server, clients]) =>
  clients.map((client) => [server as ServerName, client] as const),
)

/** The titles of all cases, by the clients. */
const titles = new Map(Object.keys(CLIENTS).map((client) => [client, new Set<string>()]))

/** Returns where cases are added, but for those that are skipped with a client. */
function withoutSkipped(t: Test, client: string): Cases {
  return {
    test(title, run) {
      titles.get(client)?.add(title)
      const reason = SKIPPED[client]?.[title]
      return t.test(title, { skip: reason ?? false }, run)
    },
  }
}

for (const [server, client] of cells) {
  t.test(`${client} with ${server}`, async (t) => {
    const cell = createCell(t, server, client, await SERVERS[server](t))
    for (const [title, { test, clients = [client] }] of Object.entries(TOPICS)) {
      if (clients.includes(client))
        t.test(title, async (t) => test(withoutSkipped(t, client), cell))
    }
  })
}

t.test('every case that is skipped is there, and has a reason', async (t) => {
  for (const [client, skipped] of Object.entries(SKIPPED)) {
    for (const [title, reason] of Object.entries(skipped)) {
      t.ok(titles.get(client)?.has(title), `${client}: ${title}`)
      t.ok(reason, title)
    }
  }
})

t.test('every difference is of servers and clients that there are', async (t) => {
  for (const { servers = [], clients = [], reason, instead } of DIFFERENCES) {
    t.ok(servers.length + clients.length > 0, reason)
    for (const server of servers) t.ok(Object.hasOwn(SERVERS, server), server)
    for (const client of clients) t.ok(Object.hasOwn(CLIENTS, client), client)
    t.ok(Object.keys(instead).length > 0, reason)
  }
})

/** Arguments for expectations that depend on what was sent. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  readSegment: ['%2F'],
  request: [{ sent: {} }],
  readId: [1],
  lostCondition: [{ a: {} }],
  routeValue: ['$&'],
  refusedConnection: [1],
  noResult: [null],
  falseResult: [0, null],
  stream: ['content'],
}

function toSample(name: string, expectations: object): unknown {
  const expected: unknown = Object.entries(expectations).find(([key]) => key === name)?.[1]
  return typeof expected === 'function' ? expected(...(SAMPLES[name] ?? [])) : expected
}

t.test('no difference is met by what all others do', async (t) => {
  for (const { instead, reason } of DIFFERENCES) {
    for (const name of Object.keys(instead)) {
      const expected = toSample(name, instead)
      t.strictNotSame(pickNamed(toSample(name, COMMON), expected), expected, `${name}: ${reason}`)
    }
  }
})
