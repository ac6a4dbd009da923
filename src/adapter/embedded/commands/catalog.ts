import type { Document } from 'bson'
import type { Command, CommandContext } from '../command.ts'
import { readMatchOptions, readName } from '../command.ts'
import { isEqual } from '../compare.ts'
import { CommandError, notSupported } from '../errors.ts'
import { whenUnlocked } from '../lock.ts'
import { compileFilter } from '../match.ts'

/** Commands about databases and collections. */
export const CATALOG_COMMANDS: Readonly<Record<string, Command>> = {
  create,
  drop: (command, context) => whenUnlocked(() => drop(command, context)),
  dropDatabase: (_command, context) => whenUnlocked(() => dropDatabase(context)),
  renameCollection: (command, context) => whenUnlocked(() => rename(command, context)),
  listCollections,
  listDatabases,
}

/** Options of `create` that change nothing here; all others are refused. */
const CREATE_OPTIONS: ReadonlySet<string> = new Set([
  'collation',
  'storageEngine',
  'indexOptionDefaults',
])
/** Fields that any command may have. */
const COMMON_FIELDS: ReadonlySet<string> = new Set([
  'create',
  'lsid',
  'txnNumber',
  'writeConcern',
  'readConcern',
  'comment',
  'maxTimeMS',
  'apiVersion',
  'apiStrict',
  'apiDeprecationErrors',
])

function create(command: Document, { store, database }: CommandContext): Document {
  const name = readName(command, 'create')
  const given = Object.entries(command).filter(
    ([field]) => !COMMON_FIELDS.has(field) && !field.startsWith('$'),
  )
  for (const [field, value] of given) {
    if (!CREATE_OPTIONS.has(field) && value !== false)
      throw notSupported(`The option '${field}' of create`, 72)
  }
  const options = Object.fromEntries(given.filter(([field]) => field === 'collation'))
  const existing = store.find(database, name)
  if (existing === undefined) store.create(database, name, options)
  else if (!isEqual(existing.options, options)) {
    throw new CommandError(48, `Collection ${existing.namespace} already exists.`)
  }
  return { ok: 1 }
}

function drop(command: Document, { store, database }: CommandContext): Document {
  const name = readName(command, 'drop')
  store.drop(database, name)
  return { ns: `${database}.${name}`, ok: 1 }
}

function dropDatabase({ store, database }: CommandContext): Document {
  const collections = store.databases.get(database)
  for (const collection of collections?.values() ?? []) collection.checkUnlocked()
  store.databases.delete(database)
  return { ...(collections === undefined ? {} : { dropped: database }), ok: 1 }
}

function rename(command: Document, { store }: CommandContext): Document {
  const from = toNamespace(readName(command, 'renameCollection'))
  const to = toNamespace(readName(command, 'to'))
  if (store.find(...to) !== undefined) {
    if (command.dropTarget !== true) throw new CommandError(48, 'target namespace exists')
    if (store.find(...from) !== undefined) store.drop(...to)
  }
  store.rename(from, to)
  return { ok: 1 }
}

function toNamespace(namespace: string): readonly [string, string] {
  const dot = namespace.indexOf('.')
  if (dot < 0) throw new CommandError(73, `Invalid namespace specified '${namespace}'`)
  return [namespace.slice(0, dot), namespace.slice(dot + 1)]
}

function listCollections(command: Document, context: CommandContext): Document {
  const { store, database, cursors } = context
  const view = store.read(database, '$cmd.listCollections', undefined)
  const matches = compileFilter(
    command.filter ?? {},
    readMatchOptions({}, view.collection, undefined),
  )
  const documents = [...(store.databases.get(database) ?? [])].map(
    ([name, { options, indexes }]) => ({
      name,
      type: 'collection',
      ...(command.nameOnly === true
        ? {}
        : { options, info: { readOnly: false }, idIndex: indexes.get('_id_') }),
    }),
  )
  const { batchSize } = command.cursor ?? {}
  return cursors.open(view.collection.namespace, documents.filter(matches), { batchSize })
}

function listDatabases(command: Document, { store }: CommandContext): Document {
  const view = store.read('admin', '$cmd.listDatabases', undefined)
  const matches = compileFilter(
    command.filter ?? {},
    readMatchOptions({}, view.collection, undefined),
  )
  const databases = [...store.databases.keys()]
    .map((name) => ({ name, sizeOnDisk: 0, empty: false }))
    .filter(matches)
  return command.nameOnly === true
    ? { databases: databases.map(({ name }) => ({ name })), ok: 1 }
    : { databases, totalSize: 0, ok: 1 }
}
