import { metadataOf } from '../../core/function-metadata.ts'
import type { OrderedHook } from '../../core/hooks/hook-chain.ts'
import { listHooks } from '../../core/hooks/hook-chain.ts'
import type { Application, MethodEntry, ServiceEntry } from '../../core/index.ts'
import type { MethodSchemas } from '../../core/services/service-schemas.ts'
import { isPlainObject } from '../../core/value-kind.ts'

/** A service as the developer page shows it. */
interface DescribedService {
  readonly path: string
  /** The name of its class, `Object` for a literal. */
  readonly className: string
  readonly events: readonly string[]
  readonly methods: readonly DescribedMethod[]
}

interface DescribedMethod {
  readonly name: string
  /** Whether external callers may call it. */
  readonly isExternal: boolean
  /** The hooks by their kinds, as calls of their factories, in the order in which they run. */
  readonly hooks: Readonly<Record<'before' | 'after' | 'error', readonly string[]>>
  /** What external callers may send and receive, as it is sent; `null` without schemas. */
  readonly schemas: MethodSchemas | null
}

/** Resolves to all services of an application, in the order of their registration. */
export async function describeServices(app: Application): Promise<DescribedService[]> {
  await Promise.all([...app.entries.values()].map(({ schemas }) => schemas?.load()))
  return [...app.entries].map(([path, entry]) => describeService(path, entry))
}

function describeService(
  path: string,
  { service, options, methods }: ServiceEntry,
): DescribedService {
  return {
    path,
    className: service.constructor.name,
    events: options.serviceEvents,
    methods: [...methods.values()].map(describeMethod),
  }
}

function describeMethod({ name, external, entry }: MethodEntry): DescribedMethod {
  const { app, hooks, outermost, schemas } = entry
  const { before, after, error } = listHooks(
    [{ hooks: outermost }, { hooks: app.hookRegistry }, { hooks, schemas }],
    name,
  )
  return {
    name,
    isExternal: external,
    hooks: {
      before: before.map(describeHook),
      after: after.map(describeHook),
      error: error.map(describeHook),
    },
    schemas: external ? (schemas?.toMethodSchemas(name) ?? null) : null,
  }
}

function describeHook({ type, hook }: OrderedHook): string {
  const { strategies, secretFields, hookArguments } = metadataOf(hook)
  const name = strategies === undefined ? hook.name || 'anonymous' : 'authenticate'
  const given = hookArguments ?? strategies ?? secretFields
  const call = given === undefined ? name : `${name}(${given.map(describeArgument).join(', ')})`
  return type === 'around' ? `${call} (around)` : call
}

/** Returns an argument as its author may have written it: functions, and what is inside of objects, as `…`. */
function describeArgument(argument: unknown): string {
  if (typeof argument === 'string') return `'${argument}'`
  if (!isPlainObject(argument)) return isSimple(argument) ? String(argument) : '…'
  const parts = Object.entries(argument).map(
    ([key, value]) => `${key}: ${isPlainObject(value) ? '…' : describeArgument(value)}`,
  )
  return `{ ${parts.join(', ')} }`
}

function isSimple(value: unknown): boolean {
  return value === null || ['number', 'boolean', 'undefined'].includes(typeof value)
}
