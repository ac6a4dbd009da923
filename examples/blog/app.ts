// The application without what differs between environments: server.ts starts it, and each test file
// starts its own.
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, openapi, rest } from 'remex'
import type { AuthenticationService, ServedSessions, SessionRecord } from 'remex/auth'
import type { MongoDBService } from 'remex/mongodb'
import type { Served } from 'remex/schema'
import { addAuthentication } from './authentication.ts'
import type { CommentService, commentOptions } from './services/comments.ts'
import { addComments } from './services/comments.ts'
import type { PostService, postOptions } from './services/posts.ts'
import { addPosts } from './services/posts.ts'
import type { UserService, userOptions } from './services/users.ts'
import { addUsers } from './services/users.ts'
import { addUploads } from './uploads.ts'

/** Each service with its options. They also type `createClient<Services>()`. */
export interface Services {
  users: Served<UserService, typeof userOptions>
  posts: Served<PostService, typeof postOptions>
  'posts/:postId/comments': Served<CommentService, typeof commentOptions>
  authentication: AuthenticationService
  sessions: ServedSessions<MongoDBService<SessionRecord>>
}

export type Blog = FastifyApplication<Services>

export interface BlogOptions {
  readonly db: Db
  /** The secret that signs tokens, at least 32 bytes. */
  readonly secret: string
  /** The folder of the images. It is created if it does not exist. */
  readonly imageFolder: string
  /** The cost of a password hash, a power of two. Default: 131072, as OWASP recommends. */
  readonly scryptCost?: number
  /** The lowest level that the server logs. Default: `'info'`. */
  readonly logLevel?: string
}

/** Resolves to the blog, which does not listen yet. */
export async function createBlog(options: BlogOptions): Promise<Blog> {
  const { db, secret, imageFolder, scryptCost = 131_072, logLevel = 'info' } = options
  const app = fastifyApp(createApp<Services>(), { logger: { level: logLevel } })
  app.configure(rest())
  addAuthentication(app, db, { secret, scryptCost })
  addUsers(app, db)
  addPosts(app, db)
  addComments(app, db)
  await addUploads(app, imageFolder)
  app.configure(openapi({ info: { title: 'Blog', version: '1.0.0' }, path: '/docs' }))
  return app
}
