// Services next to the routes of a Fastify server: `npx tsx node_modules/remex/examples/plugin.ts`.
import fastify from 'fastify'
import remex, { createApp, NotFound } from 'remex'

interface Book {
  id: string
  title: string
}

class BookService {
  readonly #books = new Map<string, Book>([['1', { id: '1', title: 'Flatland' }]])

  async find(): Promise<Book[]> {
    return [...this.#books.values()]
  }

  async get(id: string): Promise<Book> {
    const book = this.#books.get(id)
    if (book === undefined) throw new NotFound(`No record found for id '${id}'`)
    return book
  }
}

const { STAFF_KEY = 'letmein' } = process.env

const app = createApp<{ books: BookService }>().use('books', new BookService())
const staffApp = createApp().use('orders', { find: async () => [{ id: 1, book: '1' }] })

const server = fastify()
server.get('/hello', async () => ({ hello: 'world' }))
await server.register(remex, { app, prefix: '/api/v1' })

// All requests for the services of the staff and for their page pass
// through this scope.
await server.register(async (scope) => {
  scope.addHook('onRequest', async ({ headers }) => {
    const key = headers['x-staff-key']
    if (key !== STAFF_KEY) throw new NotFound('Page not found')
  })
  await scope.register(remex, { app: staffApp, prefix: '/staff' })
})

const address = await server.listen({ port: Number(process.env['PORT'] ?? 3030) })
console.log(`Try ${address}/hello and ${address}/api/v1/books/1`)
