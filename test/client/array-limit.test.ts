import t from 'tap'
import type { Params } from '../../src/transport/index.ts'
import { MODES, startServer } from '../support/http.ts'
import { CLIENTS, OUR_CLIENTS, SOCKET_CLIENT } from './suite/clients.ts'

const query = { tags: Array.from({ length: 200 }, (_, index) => `tag${index}`) }

for (const mode of MODES) {
  for (const [name, client] of Object.entries(CLIENTS)) {
    // Its queries are JSON, which has no such limit.
    if (name === SOCKET_CLIENT) continue
    t.test(`a raised arrayLimit keeps long lists, ${name}, ${mode}`, async (t) => {
      const { url } = await startServer(t, mode, {
        query: { arrayLimit: 200 },
        services: (app) => app.use('echo', { find: async ({ query }: Params) => ({ query }) }),
      })
      const options = OUR_CLIENTS.includes(name) ? { arrayLimit: 200 } : {}
      const app = client.createApp().configure(client.connect(url, options))
      t.strictSame(await app.service('echo').find({ query }), { query })
    })
  }
}
