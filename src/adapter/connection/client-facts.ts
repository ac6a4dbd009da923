import type { ClientSession, MongoClient } from 'mongodb'
import type { HookContext } from '../../core/hooks/hook-context.ts'

/** What is known of a client. */
interface ClientFacts {
  /** How many connections its pools have given to commands. */
  checkouts: number
  /** Whether its server takes no transactions, so that it is asked only once. */
  isStandalone: boolean
  /** Write the events of some calls by the session of the transaction that they belong to. */
  readonly outboxes: Set<Outbox>
}

/** Writes the events of those calls that are its own. */
export type Outbox = (contexts: readonly HookContext[], session: ClientSession) => Promise<void>

const CLIENTS = new WeakMap<MongoClient, ClientFacts>()

/** Returns what is known of a client; the checkouts are counted from then on. */
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
