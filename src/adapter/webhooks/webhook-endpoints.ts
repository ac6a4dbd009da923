import { randomBytes } from 'node:crypto'
import type { Document, ObjectId } from 'mongodb'
import type { Hook, HookContext } from '../../core/application-defaults.ts'
import { InvalidData, LimitReached } from '../../core/errors/coded-errors.ts'
import { parseTarget } from '../../core/network/safe-fetch.ts'
import type { Params } from '../../core/params.ts'
import { DateSchema } from '../../core/schema/index.ts'
import type { ServiceSchemas } from '../../core/services/service-schemas.ts'
import { changeParams } from '../../core/transport-facts.ts'
import type { RuledWrite } from '../adapter-call.ts'
import { setRule } from '../call-rules.ts'
import { ObjectIdSchema } from '../object-id.ts'

/** Where events are sent, as its owner sees it. */
export interface WebhookEndpoint {
  /** The id in its URL. */
  readonly _id: ObjectId
  /** An `https:` URL of a public server. */
  readonly url: string
  /** The events to send: `orders.created`. */
  readonly events: readonly string[]
  /** Whether events are sent. */
  readonly enabled: boolean
  /** Why it is disabled, `null` if it is not. */
  readonly reason: string | null
  /** When its owner created it. */
  readonly createdAt: Date
  /** The secret of the signatures, only in the results of `create`, and of `patch` with `rotateSecret`. */
  readonly secret?: string
}

/** The data of an endpoint. */
export interface NewWebhookEndpoint extends Pick<WebhookEndpoint, 'url' | 'events'> {
  /** The owner, in internal calls: external callers create their own endpoints. */
  readonly owner?: unknown
  /** Only for `patch`: `true` also enables an endpoint that has failed too often. */
  readonly enabled?: boolean
  /** Only for `patch`: adds a new secret. The old one stays valid for a day. */
  readonly rotateSecret?: true
}

/** Why the deliveries to an endpoint wait: its last request got no response. */
interface EndpointPause {
  /** How long it takes, in ms. */
  readonly ms: number
  /** When it ends, by the clock of the database. While a delivery goes first: when another one may. */
  readonly until: Date
  /** The id of the job whose delivery goes first, `null` for none yet. */
  readonly probe: string | null
}

/** An endpoint as it is stored. */
export interface StoredEndpoint extends Omit<WebhookEndpoint, 'secret'> {
  readonly owner: unknown
  /** How many deliveries in a row have failed. */
  readonly failures: number
  /** Set after a request without a response, until there is one. */
  readonly pause?: EndpointPause | null
  /** The newest first. */
  readonly secrets: readonly { readonly key: string; readonly at: Date }[]
}

/** How many secrets may be valid at the same time. */
const MAX_SECRETS = 5

/** Returns what external callers may send, and what they get. */
export function createEndpointSchemas(types: readonly string[]): ServiceSchemas {
  const [string, boolean] = [{ type: 'string' }, { type: 'boolean' }]
  const list = { type: 'array', items: { enum: types, ...string }, minItems: 1, uniqueItems: true }
  const url = { type: 'string', maxLength: 2_000 }
  const events = { ...list, maxItems: types.length }
  const patch = { url, events, enabled: boolean, rotateSecret: { const: true } }
  const record = {
    ...{ _id: ObjectIdSchema(), url: string, events: { type: 'array', items: string } },
    ...{ enabled: boolean, reason: { type: ['string', 'null'] }, secret: string },
    createdAt: DateSchema(),
  }
  return {
    entity: { type: 'object', properties: record },
    create: { type: 'object', properties: { url, events }, required: ['url', 'events'] },
    patch: { type: 'object', properties: patch },
  }
}

/** What the hooks of endpoints need. */
interface EndpointSetup {
  readonly types: readonly string[]
  readonly allowPrivateNetwork: boolean
  readonly maxPerOwner: number
  /** Resolves to how many endpoints an owner has. */
  readonly count: (owner: unknown, params: Params) => Promise<number>
  readonly remove: (id: ObjectId, params: Params) => Promise<unknown>
}

/** The key of the new secret in the params of its call, for the hook that shows it. */
const ADDED: unique symbol = Symbol('remex.webhookSecret')

interface EndpointParams extends Params {
  [ADDED]?: string
}

/** Returns the hooks that check data, and that create, rotate and show secrets. */
export function createEndpointHooks(
  setup: EndpointSetup,
): Record<'create' | 'limit' | 'patch' | 'show', Hook> {
  const addSecret = (context: HookContext): StoredEndpoint['secrets'][number] => {
    const key = `whsec_${randomBytes(32).toString('base64')}`
    changeParams(context, { [ADDED]: key })
    return { key, at: new Date() }
  }
  const checkCount = async (owner: unknown, params: Params, most: number): Promise<void> => {
    if ((await setup.count(owner, params)) <= most) return
    throw new LimitReached(`You have ${setup.maxPerOwner} webhooks, the maximum. Remove one first`)
  }
  const create: Hook = async (context) => {
    const { url, events, owner } = context.data as NewWebhookEndpoint
    checkEndpoint({ url, events }, setup)
    if (owner == null) throw new InvalidData('A webhook needs an owner')
    await checkCount(owner, context.params, setup.maxPerOwner - 1)
    const secrets = [addSecret(context)]
    const state = { enabled: true, reason: null, failures: 0, secrets, createdAt: new Date() }
    context.data = { url, events, owner, ...state }
  }
  // Counts again, since calls at the same time have all passed the first check.
  const limit: Hook = async ({ data, result, params }) => {
    try {
      await checkCount((data as StoredEndpoint).owner, params, setup.maxPerOwner)
    } catch (error) {
      await setup.remove((result as unknown as StoredEndpoint)._id, params)
      throw error
    }
  }
  const patch: Hook = (context) => {
    const { rotateSecret, enabled, ...others } = context.data as Partial<NewWebhookEndpoint>
    checkEndpoint(others, setup)
    const reason = enabled ? null : 'Disabled by its owner'
    const state = enabled === undefined ? {} : { enabled, reason, failures: 0 }
    const isOther = enabled !== undefined || others.url !== undefined
    context.data = { ...others, ...state, ...(isOther ? { pause: null } : {}) }
    if (rotateSecret !== true) return
    const secrets = { $each: [addSecret(context)], $position: 0, $slice: MAX_SECRETS }
    // A rule, since the data of external callers may have no such operators.
    const fill = (write: RuledWrite) => ({ ...write, data: { ...write.data, $push: { secrets } } })
    setRule(context, patch, { fill })
  }
  const show: Hook = (context) => {
    const { [ADDED]: secret } = context.params as EndpointParams
    if (secret === undefined) return
    context.result = { ...(context.result as Document), secret } as never
  }
  return { create, limit, patch, show }
}

/** @throws {BadRequest} the URL is not one that events may be sent to, or there is no such event */
function checkEndpoint(
  { url, events }: Partial<NewWebhookEndpoint>,
  { types, ...limits }: EndpointSetup,
): void {
  const other = [events ?? []].flat().find((type) => !types.includes(type))
  if (other !== undefined) throw new InvalidData(`Unknown event. Allowed are ${types.join(', ')}`)
  if (url === undefined) return
  try {
    parseTarget(String(url), limits)
  } catch (cause) {
    throw new InvalidData('The URL must be an https: URL of a public server', {}, { cause })
  }
}
