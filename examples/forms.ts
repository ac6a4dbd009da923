// A service that takes forms with files: `npx tsx node_modules/remex/examples/forms.ts`, after
// `npm install @fastify/multipart`.
import multipart from '@fastify/multipart'
import type { Middleware } from 'remex'
import { BadRequest, bodyParsers, createApp, fastifyApp, rest } from 'remex'

const app = fastifyApp(createApp())
app.configure(rest())

// Only this service takes forms with files. Others still return 415.
const forms = bodyParsers((routes) =>
  routes.register(multipart, {
    limits: { fileSize: 2 * 1024 * 1024, files: 1, fields: 10 },
  }),
)

// Runs before the service: fields and file of the form become `data`.
const readForm: Middleware = async (request) => {
  if (!request.isMultipart()) return
  const body: Record<string, unknown> = {}
  try {
    for await (const part of request.parts()) {
      const isFile = part.type === 'file'
      body[part.fieldname] = isFile ? await part.toBuffer() : part.value
    }
  } catch (error) {
    // An error with a status is about limits, any other means a broken form.
    if (error instanceof Error && 'statusCode' in error) throw error
    throw new BadRequest('The form cannot be read', null, { cause: error })
  }
  request.body = body
}

const uploads = {
  create: async ({ title, file }: { title?: string; file?: Buffer }) => ({
    title,
    bytes: file?.length ?? 0,
  }),
}

app.use('uploads', forms, readForm, uploads)

const { PORT = '3030', HOST = '127.0.0.1' } = process.env
await app.listen({ port: Number(PORT), host: HOST })
console.log(`Try

  curl -i -F title=Readme -F file=@README.md http://${HOST}:${PORT}/uploads`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.close())
