import type { Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider'

/** The records of a provider, by kind and id: sessions, codes, tokens and known applications. */
export class ProviderMemory {
  readonly #kinds = new Map<string, Map<string, AdapterPayload>>()

  /** Adds an application that may log users in. */
  addClient(client: ClientMetadata): void {
    this.#kind('Client').set(client.client_id, client)
  }

  /** Returns the records of one kind in the form that `oidc-provider` needs. */
  adapterFor(kind: string): Adapter {
    const records = this.#kind(kind)
    const findBy = (key: string, value: string) =>
      [...records.values()].find((record) => record[key] === value)
    return {
      upsert: async (id, record) => void records.set(id, record),
      find: async (id) => records.get(id),
      findByUid: async (uid) => findBy('uid', uid),
      findByUserCode: async (code) => findBy('userCode', code),
      consume: async (id) => void Object.assign(records.get(id) ?? {}, { consumed: true }),
      destroy: async (id) => void records.delete(id),
      revokeByGrantId: async (grantId) => {
        for (const [id, record] of records) if (record.grantId === grantId) records.delete(id)
      },
    }
  }

  #kind(name: string): Map<string, AdapterPayload> {
    const known = this.#kinds.get(name) ?? new Map<string, AdapterPayload>()
    this.#kinds.set(name, known)
    return known
  }
}
