import cluster from 'node:cluster'
import { once } from 'node:events'
import { totalmem } from 'node:os'
import { resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { lockDirectory } from './journal/lock.ts'

const HOST = '127.0.0.1'
const MEGABYTE = 1024 * 1024

/** Where the embedded server listens, and what it keeps. */
export interface EmbeddedMongoOptions {
  /** The port on 127.0.0.1; default 0, any free one. There is no way to listen on another host. */
  readonly port?: number
  /** The maximum number of bytes of BSON that it stores; default 512 MiB. */
  readonly maxBytes?: number
  /**
   * A folder for its data, created if needed, which only one server can use at a time; default: in memory.
   */
  readonly directory?: string
  /** Whether it starts if `NODE_ENV` is `production`; default false. */
  readonly allowProduction?: boolean
}

/** A running embedded server. */
export interface EmbeddedMongo {
  /** What `new MongoClient(url)` takes. */
  readonly url: string
  /** Closes all connections; resolves when the port is free again and all data is in the directory. */
  readonly close: () => Promise<void>
}

/** The start options of a server's thread. */
export interface WorkerOptions {
  readonly host: string
  readonly port: number
  readonly maxBytes: number
  readonly directory: string | undefined
}

/**
 * Returns a server that speaks MongoDB's protocol. It runs in its own thread, so that its work does not block
 * this one, and does not keep the process alive.
 * @throws {TypeError} an option is unknown or invalid, this process is a `node:cluster` worker, or it runs in
 *   production
 * @throws {Error} the port or the directory is in use, or the data in the directory is damaged
 */
export async function startEmbeddedMongo(
  options: EmbeddedMongoOptions = {},
): Promise<EmbeddedMongo> {
  checkOptions(options)
  checkProcess(options)
  const directory = options.directory === undefined ? undefined : resolve(options.directory)
  const unlock = directory === undefined ? () => undefined : lockDirectory(directory)
  const { port = 0, maxBytes = 512 * MEGABYTE } = options
  const worker = startWorker({ host: HOST, port, maxBytes, directory })
  const ended = new Promise<void>((done) => {
    worker.once('exit', () => {
      unlock()
      done()
    })
  })
  const [address] = await once(worker, 'message').catch(async (error: unknown) => {
    await ended
    throw error
  })
  worker.on('error', warn)
  worker.unref()
  return {
    url: `mongodb://${address}/?replicaSet=rs0`,
    async close() {
      worker.ref()
      worker.postMessage('close')
      await ended
    },
  }
}

const OWNER = 'startEmbeddedMongo()'

/** All options: a test of their values, and the allowed values in words. */
const OPTIONS: ReadonlyMap<string, readonly [isValid: (value: unknown) => boolean, rule: string]> =
  new Map([
    ['port', [(value) => isWhole(value, 0, 65_535), 'a whole number from 0 to 65535']],
    ['maxBytes', [(value) => isWhole(value, 1, 2 ** 53), 'a whole number of at least 1']],
    ['directory', [(value) => typeof value === 'string' && value !== '', 'a non-empty string']],
    ['allowProduction', [(value) => typeof value === 'boolean', 'a boolean']],
  ])

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= most
}

function checkOptions(options: EmbeddedMongoOptions): void {
  for (const [name, value] of Object.entries(options)) {
    const [isValid, rule] = OPTIONS.get(name) ?? []
    if (isValid === undefined) {
      const names = [...OPTIONS.keys()].join(', ')
      throw new TypeError(`${OWNER}: unknown option '${name}', allowed are ${names}`)
    }
    if (value === undefined || isValid(value)) continue
    throw new TypeError(`${OWNER}: the option '${name}' must be ${rule}`)
  }
}

function checkProcess({ allowProduction = false }: EmbeddedMongoOptions): void {
  if (process.env['NODE_ENV'] === 'production' && !allowProduction) {
    throw new TypeError(
      `${OWNER}: it is for development and tests, and NODE_ENV is 'production': connect to ` +
        'MongoDB, or set the option allowProduction to true',
    )
  }
  // Workers share their ports: a client would reach the database of any worker.
  if (!cluster.isWorker) return
  throw new TypeError(
    `${OWNER}: cannot run in a node:cluster worker, as each worker would have its own database: ` +
      "start it once, in the primary, and give the 'url' to the workers",
  )
}

function startWorker(options: WorkerOptions): Worker {
  // A record of short fields takes about ten times its BSON in memory. Beyond the limit, only the thread
  // ends.
  const memory = Math.min(512 * MEGABYTE + 10 * options.maxBytes, 0.75 * totalmem())
  return new Worker(new URL('./worker.js', import.meta.url), {
    name: 'embedded MongoDB',
    workerData: options,
    resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memory / MEGABYTE) },
    // Flags of the process, such as `--import`, are for its own code.
    execArgv: [],
    env: {},
  })
}

function warn(error: Error): void {
  process.emitWarning(`The embedded server has ended: ${error.message}`)
}
