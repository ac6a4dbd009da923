import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Blog } from '../app.ts'
import { createBlog } from '../app.ts'
import { openDatabase } from '../database.ts'
import { Client } from './client.ts'

export const PASSWORD = 'correct horse battery'

export interface RunningBlog {
  readonly app: Blog
  readonly imageFolder: string
  /** The client of a guest. */
  readonly guest: Client
  /** Resolves to the client of a new user, who is logged in. */
  signUp(name: string): Promise<Member>
}

export interface Member extends Client {
  readonly id: string
}

/** Resolves to a blog with its own database and folder, which are removed when the tests end. */
export async function startBlog(): Promise<RunningBlog> {
  const imageFolder = await mkdtemp(join(tmpdir(), 'blog-'))
  const { db, close } = await openDatabase(`blog-${randomUUID()}`)
  const secret = 'only for tests: a secret of 32 bytes'
  const app = await createBlog({ db, secret, imageFolder, scryptCost: 1024, logLevel: 'error' })
  after(async () => {
    await app.close()
    await db.dropDatabase()
    await close()
    await rm(imageFolder, { recursive: true })
  })
  await app.listen()
  const url = app.fastify.listeningOrigin
  const guest = new Client(url)
  return {
    app,
    imageFolder,
    guest,
    async signUp(name) {
      const email = `${name}@example.org`
      const user = await guest.post('/users', { email, name, password: PASSWORD })
      const login = { strategy: 'local', email, password: PASSWORD }
      const { body } = await guest.post('/authentication', login)
      const client = new Client(url, String(body['accessToken']))
      return Object.assign(client, { id: String(user.body._id) })
    },
  }
}
