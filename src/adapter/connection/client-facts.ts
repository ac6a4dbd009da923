import type { ClientSession, MongoClient } from 'mongodb'
import type { HookContext } from '../../core/hooks/hook-context.ts'

/** The facts about a client. */
interface ClientFacts {
  /** How many connections its pools have handed to commands. */
  checkouts: number
  /** Whether its server supports no transactions, so that it is only asked once. */
  isStandalone: boolean
  /** Functions that write the events of calls in the session of their transaction. */
  readonly outboxes: Set<Outbox>
}

/** Writes the events of the calls that it is responsible for. */
export type Outbox = (contexts: readonly HookContext[], session: ClientSession) => Promise<void>

const CLIENTS = new WeakMap<MongoClient, ClientFacts>()

/** Returns the facts about a client. Counts its checkouts from the first call on. */
export function getClientFacts(client: MongoClient): ClientFacts {
  const known = CLIENTS.get(client)
  if (known !== undefined) return known
  const facts: ClientFacts = { checkouts: 0, isStandalone: false, outboxes: new Set() }
  CLIENTS.set(client, facts)
  client.on('connectionCheckedOut', () => {
    facts.checkouts += 1
  })
  return facts
}
