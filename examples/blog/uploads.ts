// The images of posts: POST /posts/:id/image accepts a form with one file, /images/ serves them.
import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import multipart from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import {
  authenticateRequest,
  BadRequest,
  Conflict,
  NotFound,
  PayloadTooLarge,
  serveStatic,
  UnsupportedMediaType,
} from 'remex'
import type { Blog } from './app.ts'
import { userOf } from './authentication.ts'
import type { Post, PostParams } from './services/posts.ts'

const MAX_BYTES = 2 * 1024 * 1024

/** The accepted types, by first bytes in hexadecimal: the type that a client declares proves nothing. */
const IMAGE_TYPES = [
  { extension: '.png', start: /^89504e470d0a1a0a/ },
  { extension: '.jpg', start: /^ffd8ff/ },
  { extension: '.webp', start: /^52494646.{8}57454250/ },
] as const

export async function addUploads(app: Blog, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  app.configure(
    serveStatic({
      root: folder,
      prefix: '/images/',
      // A browser must not show a file as a page, or run a script in it.
      setHeaders: (reply) => {
        reply.header('x-content-type-options', 'nosniff')
        reply.header('content-security-policy', "default-src 'none'; sandbox")
      },
    }),
  )
  const posts = app.service('posts')
  const removeImage = async ({ image }: Pick<Post, 'image'>): Promise<void> => {
    if (image !== undefined) await rm(join(folder, image), { force: true })
  }
  posts.hooks({
    before: { remove: [selectImage] },
    after: { remove: [({ result }) => Promise.all([result ?? []].flat().map(removeImage))] },
  })

  // Only this scope accepts forms: services still reject them.
  app.fastify.register(async (routes) => {
    await routes.register(multipart, {
      limits: { fileSize: MAX_BYTES, files: 1, fields: 0 },
    })
    routes.post<{ Params: { id: string } }>(
      '/posts/:id/image',
      { preHandler: authenticateRequest(app, 'jwt') },
      async (request) => {
        const { id } = request.params
        const query = { authorId: userOf(request.feathers)._id }
        // Checked before the file is read: only the author may add an image.
        const previous = await posts.get(id, { query })
        const bytes = await readFile(request)
        const start = bytes.toString('hex', 0, 12)
        const type = IMAGE_TYPES.find((known) => known.start.test(start))
        if (type === undefined)
          throw new UnsupportedMediaType('The image must be PNG, JPEG or WebP')
        // The client's file name is not used: it may be a path, or end in `.html`.
        const image = randomUUID() + type.extension
        await writeFile(join(folder, image), bytes, { flag: 'wx' })
        // Replaces only the image that was read above: one of two uploads succeeds.
        const swap = { ...query, image: previous.image ?? null }
        const post = await posts
          .patch(id, { $set: { image } }, { query: swap })
          .catch(async (error) => {
            await removeImage({ image })
            throw error instanceof NotFound
              ? new Conflict('The post has changed: try again')
              : error
          })
        await removeImage(previous)
        return post
      },
    )
  })
}

/**
 * Resolves to the bytes of the file in a form.
 * @throws {BadRequest} there is no file, or the form is invalid, for example cut off
 * @throws {PayloadTooLarge} the file exceeds the limit
 */
async function readFile(request: FastifyRequest): Promise<Buffer> {
  // A closed request would never end.
  if (request.raw.readableAborted) throw new BadRequest('The form has been broken off')
  try {
    const file = await request.file()
    if (file === undefined) throw new BadRequest('The form must have a file')
    const bytes = await file.toBuffer()
    // A file slightly above the limit may be truncated without an error.
    if (file.file.truncated) throw new PayloadTooLarge('The file is too large')
    return bytes
  } catch (error) {
    // Errors with a status already say what is wrong, for example that the file is too large.
    if (error instanceof Error && 'statusCode' in error) throw error
    throw new BadRequest('Cannot read the form', null, { cause: error })
  }
}

/** Adds `image` to the result of `remove`, whatever the caller selects: it names the file to delete. */
function selectImage({ params }: { params: PostParams }): void {
  const { $select, ...query } = params.query ?? {}
  if ($select !== undefined) params.query = { ...query, $select: [...$select, 'image'] }
}
