// Services beside the routes of a Fastify server: `node build/examples/plugin.js`.
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

const app = createApp<{ books: BookService }>().use('books', new BookService())

const server = fastify()
server.get('/hello', async () => ({ hello: 'world' }))
await server.register(remex, { app, prefix: '/api/v1' })

const address = await server.listen({ port: Number(process.env['PORT'] ?? 3030) })
console.log(`Try ${address}/hello and ${address}/api/v1/books/1`)
