import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { basename } from 'node:path'
import type { Collection, CommandStartedEvent, Db, Document } from 'mongodb'
import { MongoClient } from 'mongodb'

/** The part of a tap test that opens things here. */
interface TestScope {
  comment(...text: string[]): void
  teardown(close: () => unknown): void
}

interface RunningDatabase {
  readonly name: string
  readonly url: string
  close(): Promise<unknown>
}

/** A database of its own for one test file; it is dropped when the file ends. */
export interface TestDatabase {
  /** Where others connect to it. */
  readonly url: string
  readonly client: MongoClient
  readonly db: Db
  /** Returns a collection of this name without records. */
  empty(name: string): Promise<Collection>
  /** Resolves to the commands that were sent while the function ran, in their order. */
  commandsOf(run: () => Promise<unknown>): Promise<Document[]>
}

/**
 * Resolves to a database behind a real socket: that of `MONGODB_URL`, else a container where a Docker
 * engine answers, else the embedded server. Says which one it is.
 */
export async function openDatabase(t: TestScope): Promise<TestDatabase> {
  const running = await startDatabase()
  t.comment(`database: ${running.name}`)
  const client = new MongoClient(running.url, {
    monitorCommands: true,
  })
  const db = client.db(toDatabaseName())
  const observers = new Set<(event: CommandStartedEvent) => void>()
  client.on('commandStarted', (event) => {
    for (const observe of observers) observe(event)
  })
  t.teardown(async () => {
    await db.dropDatabase()
    await client.close()
    await running.close()
  })
  return {
    url: running.url,
    client,
    db,
    async empty(name) {
      await db.collection(name).deleteMany({})
      return db.collection(name)
    },
    async commandsOf(run) {
      const commands: Document[] = []
      const observe = ({ command }: CommandStartedEvent) => commands.push(command)
      observers.add(observe)
      try {
        await run()
      } finally {
        observers.delete(observe)
      }
      return commands
    },
  }
}

/** Returns the names of commands. */
export const namesOf = (commands: readonly object[]) =>
  commands.map((command) => Object.keys(command)[0])

async function startDatabase(): Promise<RunningDatabase> {
  const url = process.env.MONGODB_URL
  if (url) return { name: 'MONGODB_URL', url, close: async () => undefined }
  return (await isDockerThere()) ? startContainer() : startEmbedded()
}

async function startContainer(): Promise<RunningDatabase> {
  const { MongoDBContainer } = await import('@testcontainers/mongodb')
  const container = await new MongoDBContainer('mongo:8').start()
  const url = `${container.getConnectionString()}/?directConnection=true`
  return { name: 'container mongo:8', url, close: () => container.stop() }
}

async function startEmbedded(): Promise<RunningDatabase> {
  const { startEmbeddedMongo } = await import('../../src/adapter/embedded/index.ts')
  const { url, close } = await startEmbeddedMongo({ allowProduction: true })
  return { name: 'embedded', url, close }
}

/** Whether something listens where the Docker client would look for its engine. */
async function isDockerThere(): Promise<boolean> {
  const host = process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock'
  const { protocol, hostname, port, pathname } = new URL(host)
  const isSocketFile = protocol === 'unix:'
  if (isSocketFile && !existsSync(pathname)) return false
  const target = isSocketFile ? { path: pathname } : { host: hostname, port: Number(port || 2375) }
  return new Promise((resolve) => {
    const socket = connect({ ...target, timeout: 500 })
    const answer = (isThere: boolean) => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', () => answer(true))
    socket.once('error', () => answer(false))
    socket.once('timeout', () => answer(false))
  })
}

function toDatabaseName(): string {
  const file = basename(process.argv[1] ?? 'test').replace(/\W+/g, '_')
  return `remex_${file}_${process.pid}`.slice(0, 60)
}
