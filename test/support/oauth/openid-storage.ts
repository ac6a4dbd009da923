import type { Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider'

type Found = AdapterPayload | undefined

/**
 * What an OpenID provider remembers, in memory: sessions, grants, codes, tokens and clients. Nothing
 * is removed by time; the provider itself looks at the expiry of what it finds.
 */
export class OpenIdStorage {
  readonly #models = new Map<string, Map<string, AdapterPayload>>()

  /** Adds a client, or takes the place of the one of its id. */
  addClient(client: ClientMetadata): void {
    this.#model('Client').set(client.client_id, client)
  }

  /** Returns the part for one model, in the form that `oidc-provider` asks for. */
  adapterFor(name: string): Adapter {
    const model = this.#model(name)
    const findBy = async (key: 'uid' | 'userCode', value: string): Promise<Found> =>
      [...model.values()].find((payload) => payload[key] === value)
    return {
      upsert: async (id, payload) => void model.set(id, payload),
      find: async (id) => model.get(id),
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (userCode) => findBy('userCode', userCode),
      // A code that is used a second time takes back what was given for it.
      consume: async (id) => void Object.assign(model.get(id) ?? {}, { consumed: true }),
      destroy: async (id) => void model.delete(id),
      revokeByGrantId: async (grantId) => this.#revoke(grantId),
    }
  }

  #revoke(grantId: string): void {
    for (const model of this.#models.values()) {
      for (const [id, payload] of model) if (payload.grantId === grantId) model.delete(id)
    }
  }

  #model(name: string): Map<string, AdapterPayload> {
    const model = this.#models.get(name) ?? new Map<string, AdapterPayload>()
    this.#models.set(name, model)
    return model
  }
}
