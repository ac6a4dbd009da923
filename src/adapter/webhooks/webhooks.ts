import type { AnyApplication } from '../../core/app.ts'
import type { AroundHook, Hook, ServiceEntry } from '../../core/application-defaults.ts'
import { LoginRequired } from '../../core/errors/coded-errors.ts'
import { OptionError, OrderError } from '../../core/errors/setup-errors.ts'
import { STANDARD_EVENTS } from '../../core/method-table.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { OptionRule, OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import type { Params } from '../../core/params.ts'
import type { ServiceSchemas } from '../../core/services/service-schemas.ts'
import { readUserId } from '../../core/user-id.ts'
import { isObject, isStringList } from '../../core/value-kind.ts'
import { isModel, MODEL_EXPECTED } from '../connection/model.ts'
import { TIMER_MS } from '../jobs/job-handlers.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { pickSession } from '../mongodb-params.ts'
import { MongoDBService } from '../mongodb-service.ts'
import { limitTo } from '../record-hooks/limit-to.ts'
import { FIELD } from '../record-hooks/record-hook.ts'
import { transaction } from '../transactions/transaction.ts'
import type { StoredDelivery, WebhookDelivery } from './webhook-delivery.ts'
import {
  createDeliveryHandler,
  DELIVERY_JOB,
  DELIVERY_PRIORITY,
  DELIVERY_SCHEMAS,
} from './webhook-delivery.ts'
import type { NewWebhookEndpoint, StoredEndpoint, WebhookEndpoint } from './webhook-endpoints.ts'
import { createEndpointHooks, createEndpointSchemas } from './webhook-endpoints.ts'
import type { EventSetup, MayReceive } from './webhook-events.ts'
import { createEventHook } from './webhook-events.ts'

/** Options of {@link webhooks}. */
export interface WebhooksOptions {
  /** The collection of the endpoints, as in the option `Model` of a service. */
  readonly endpoints: MongoDBSettings['Model']
  /** The collection of the deliveries. */
  readonly deliveries: MongoDBSettings['Model']
  /** The events that endpoints may list, by the paths of services: `{ orders: ['created', 'removed'] }`. */
  readonly events: Readonly<Record<string, readonly string[]>>
  /** Hooks around the calls of both services: `[authenticate('jwt')]`. Default: none. */
  readonly around?: readonly AroundHook[]
  /** Returns the owner of a caller's endpoints. Default: the `_id` or `id` of `params.user`. */
  readonly by?: (params: Params) => unknown
  /** The field of a record that holds its owner. Default: `'createdBy'`. */
  readonly ownerField?: string
  /**
   * Returns whether the owner of an endpoint may see a record; anything but `true` means no. It is called within the
   * transaction of the write, for each endpoint that lists the event. Default: whether `ownerField` is this owner.
   */
  readonly may?: MayReceive
  /** How often a delivery is tried. Default: 8. */
  readonly attempts?: number
  /** The wait after a failure, in ms, by the number of the attempt. Default: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h. */
  readonly backoffMs?: (attempt: number) => number
  /** How long an endpoint may take to respond, in ms. Default: 10,000. */
  readonly timeoutMs?: number
  /** How many deliveries in a row must fail to disable an endpoint. Default: 5. */
  readonly disableAfter?: number
  /** How long deliveries are kept, in ms: longer than their attempts take. Default: 30 days. */
  readonly keepDeliveriesMs?: number
  /** How many endpoints an owner may have. Default: 20. */
  readonly maxPerOwner?: number
  /** Whether endpoints may be on this machine or in a private network, for development. Default: `false`. */
  readonly allowPrivateNetwork?: boolean
}

const MODEL: OptionRule = { expected: MODEL_EXPECTED, isValid: isModel }

const RULES: OptionRules = {
  ...{ endpoints: MODEL, deliveries: MODEL },
  events: {
    expected: "an object of lists as { orders: ['created'] }",
    isValid: (value) => isObject(value) && Object.values(value).every(isStringList),
  },
  around: { expected: 'a list of hooks', isValid: Array.isArray },
  ...{ by: OPTION.function, ownerField: FIELD, may: OPTION.function },
  ...{ attempts: OPTION.positiveInteger, backoffMs: OPTION.function, timeoutMs: TIMER_MS },
  ...{ disableAfter: OPTION.positiveInteger, keepDeliveriesMs: OPTION.positiveInteger },
  ...{ maxPerOwner: OPTION.positiveInteger, allowPrivateNetwork: OPTION.boolean },
}

type Resolved = Required<Omit<WebhooksOptions, 'may'>> & Pick<WebhooksOptions, 'may'>

const MINUTE_MS = 60_000
const BACKOFF_MS = [5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS, 300 * MINUTE_MS]

const DEFAULTS: Partial<Resolved> = {
  ...{ around: [], by: readUserId, ownerField: 'createdBy', allowPrivateNetwork: false },
  ...{ attempts: 8, timeoutMs: 10_000, disableAfter: 5, maxPerOwner: 20 },
  backoffMs: (attempt) => BACKOFF_MS[attempt - 1] ?? 600 * MINUTE_MS,
  keepDeliveriesMs: 30 * 24 * 60 * MINUTE_MS,
}

/** The service of the endpoints, for a map of services. */
export type WebhookService = MongoDBService<WebhookEndpoint, NewWebhookEndpoint>

/** The service of the deliveries, for a map of services. */
export type WebhookDeliveryService = MongoDBService<WebhookDelivery>

const PAGES = { default: 20, max: 100 }

/**
 * Sends events of services to servers of users: `app.configure(webhooks({ endpoints, deliveries, events: { orders:
 * ['created'] } }))`, after `jobs()`. Users keep their endpoints in the service `webhooks`, and
 * see what was sent in `webhook-deliveries`. Requests are signed as Standard Webhooks.
 * @throws {TypeError} an option is missing, unknown or invalid
 */
export function webhooks(options: WebhooksOptions): (app: AnyApplication) => void {
  const configure = createConfigurator('webhooks', options, (app: AnyApplication) => {
    addWebhooks(app, withDefaults(DEFAULTS as Resolved, options))
  })
  checkOptions('webhooks()', options, RULES)
  for (const name of ['endpoints', 'deliveries', 'events'] as const) {
    if (options[name] !== undefined) continue
    throw new OptionError(`webhooks(): the option '${name}' is required`)
  }
  return configure
}

function addWebhooks(app: AnyApplication, options: Resolved): void {
  const { by, events } = options
  if (app.jobs === undefined) throw new OrderError('webhooks() needs jobs(): configure it first')
  const endpoints = new MongoDBService<StoredEndpoint>({
    ...{ Model: options.endpoints, hidden: ['secrets'], paginate: PAGES },
    indexes: [{ key: { owner: 1 } }, { key: { events: 1, owner: 1 } }],
  })
  const deliveries = new MongoDBService<StoredDelivery>({
    ...{ Model: options.deliveries, paginate: PAGES },
    indexes: [{ key: { owner: 1 } }, { key: { expiresAt: 1 }, expireAfterSeconds: 0 }],
  })
  const types = Object.entries(events).flatMap(([path, names]) =>
    names.map((name) => `${path}.${name}`),
  )
  const { create, limit, patch, show } = createEndpointHooks({
    ...{ ...options, types },
    count: (owner, params) =>
      endpoints.countDocuments({ ...pickSession(params), query: { owner } as never }),
    remove: (id, params) => endpoints._remove(id, pickSession(params)),
  })
  const onlyOwn = limitTo((params) => {
    const owner = by(params)
    if (owner == null) throw new LoginRequired('Not authenticated')
    return { owner } as never
  })
  const sendAgain: Hook = async ({ id, data, params }) => {
    if ((data as Partial<WebhookDelivery>).status !== 'pending') return
    const job = { id: deliveries.getObjectId(id as string), isResend: true }
    const choices = { params, key: String(id), priority: DELIVERY_PRIORITY }
    await app.jobs.enqueue(DELIVERY_JOB, job as never, choices)
  }
  const around = [...options.around]
  const add = (path: string, service: object, methods: string[], schemas: ServiceSchemas) => {
    // No event is sent to clients: that of a new endpoint has its secret.
    app.use(path, service, { methods, schemas, serviceEvents: [] })
    app.service(path).hooks({ around: { all: around }, before: { all: [onlyOwn] } })
  }
  add(
    'webhooks',
    endpoints,
    ['find', 'get', 'create', 'patch', 'remove'],
    createEndpointSchemas(types),
  )
  const shown = { create: [limit, show], patch: [show] }
  app.service('webhooks').hooks({ before: { create: [create], patch: [patch] }, after: shown })
  add('webhook-deliveries', deliveries, ['find', 'get', 'patch'], DELIVERY_SCHEMAS)
  app.service('webhook-deliveries').hooks({
    around: { patch: [transaction()] },
    after: { patch: [sendAgain] },
  })
  const concurrency = Math.ceil(app.jobs.concurrency / 2)
  const sending = { ...options, concurrency, logger: () => app.logger, jobs: app.jobs }
  app.jobs.handle(DELIVERY_JOB, createDeliveryHandler(sending, deliveries, endpoints))
  watch(app, new Map(Object.entries(events)), { app, options, endpoints, deliveries })
}

/** Adds the hook of events to the services that have some, also to those that the application gets later. */
function watch(
  app: AnyApplication,
  events: ReadonlyMap<string, readonly string[]>,
  setup: EventSetup,
): void {
  const add = (path: string, entry: ServiceEntry): void => {
    const names = events.get(path)
    if (names === undefined || entry.app !== app) return
    const hook = createEventHook(setup, names)
    const writes = [...entry.methods.values()].filter(({ spec }) => spec.verb !== 'GET')
    entry.outermost.add({ around: Object.fromEntries(writes.map(({ name }) => [name, hook])) })
    entry.compile()
  }
  for (const [path, entry] of app.entries) add(path, entry)
  app.observe((change, path, entry) => change === 'added' && add(path, entry))
  const check = async (_context: unknown, next: () => Promise<void>): Promise<void> => {
    for (const [path, names] of events) {
      const entry = app.entries.get(path)
      if (entry?.app !== app) {
        throw new OptionError(`webhooks(): the application itself has no service '${path}'`)
      }
      if ('createsOutsideTransactions' in entry.service) {
        throw new OptionError(`webhooks(): a create of '${path}' cannot be part of a transaction`)
      }
      const known = [...STANDARD_EVENTS, ...entry.options.serviceEvents]
      const other = names.find((name) => !known.includes(name))
      if (other !== undefined)
        throw new OptionError(`webhooks(): '${path}' has no event '${other}'`)
    }
    await next()
  }
  app.hooks({ setup: [check] })
}
