import type { MongoDBService } from '../../src/adapter/index.ts'
import { createClient } from '../../src/client/index.ts'
import type { Page } from '../../src/core/index.ts'
import { expectType } from './expect-type.ts'

// Values of placeholders that a path does not have, also in variables: those of other paths.

interface Ticket {
  _id: string
  title: string
}

declare const plain: {
  find(): Promise<Ticket[]>
  get(id: string): Promise<Ticket>
  assign(data: { to: string }): Promise<Ticket>
}

interface Services {
  orgs: typeof plain
  'orgs/:orgId/tickets': MongoDBService<Ticket>
  'orgs/:orgId/plain': typeof plain
  'orgs/:orgId/tickets/:ticketId/notes': typeof plain
}

const methods = { 'orgs/:orgId/plain': ['assign'] } as const
const client = createClient<Services, typeof methods>({ methods })
const tickets = client.service('orgs/:orgId/tickets')
const plains = client.service('orgs/:orgId/plain')
const route = { orgId: '1' }
const both = { orgId: '1', ticketId: '2' }
const title = 'a'

expectType<Promise<Page<Ticket>>>()(tickets.find({ route }))
tickets.patch(null, { title }, { route, query: { title } })
plains.assign({ to: 'a' }, { route })
client.service('orgs/:orgId/tickets/:ticketId/notes').find({ route: both })
client.service('orgs/:orgId/tickets/:ticketId/notes').get('1', { route: { ...both } })

// @ts-expect-error no such placeholder
tickets.find({ route: { orgId: '1', ticketId: '2' } })
// @ts-expect-error no such placeholder
tickets.find({ route: both })
// @ts-expect-error no such placeholder
tickets.get('1', { route: both })
// @ts-expect-error no such placeholder
tickets.get('1', { route: both, query: { $select: ['title'] } })
// @ts-expect-error no such placeholder
tickets.create({ title }, { route: both })
// @ts-expect-error no such placeholder
tickets.create([{ title }], { route: both })
// @ts-expect-error no such placeholder
tickets.update('1', { title }, { route: both })
// @ts-expect-error no such placeholder
tickets.patch('1', { title }, { route: { ...route, ticketId: '2' } })
// @ts-expect-error no such placeholder
tickets.patch(null, { title }, { route: both })
// @ts-expect-error no such placeholder
tickets.remove('1', { route: both })
// @ts-expect-error no such placeholder
tickets.each({ route: both })
// @ts-expect-error no such placeholder
tickets.stream({ route: both })
// @ts-expect-error no such placeholder
plains.find({ route: both })
// @ts-expect-error no such placeholder
plains.get('1', { route: both })
// @ts-expect-error no such placeholder
plains.assign({ to: 'a' }, { route: both })
// @ts-expect-error the path has no placeholder
client.service('orgs').find({ route })
// @ts-expect-error one is missing
client.service('orgs/:orgId/tickets/:ticketId/notes').find({ route })
